/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "common/util.h"
#include "core/quirks.h"
#include "sys/io/roots.h"

/*
 * The quirks parameter of usb_storage, written by read, modify, write and read again: the kernel offers no
 * compare-and-swap, so everybody of ours holds the lock, and entries of others are left as they are.
 */

/*
 * Takes the machine-wide lock; close the descriptor to give it back. Waits for at most `usec`, time awake. If a killed
 * uasd-switch has left the entry of its bind in the parameter, the entry is removed now.
 */
int quirks_lock(const struct roots *r, usec_t usec);
int quirks_param_read(const struct roots *r, char ret[static QUIRKS_MAX + 1]);
/* Its inode: another one each time that usb_storage is loaded, and what was put in before has gone then. 0: it is not there. */
uint64_t quirks_param_inode(const struct roots *r);
/* Puts our entry first. -ENOSPC: no room. -ENOENT: usb_storage is not there. */
int quirks_param_push(const struct roots *r, const char *entry);
/* Takes the entry out again. 0 also if it is not there. */
int quirks_param_pop(const struct roots *r, const char *entry);

/*
 * An entry for the time of a bind, by who has the lock. It is on record before it is in the parameter, since its text is all that
 * takes it out again. -EBUSY: an earlier one is still there.
 */
int quirks_bind_begin(const struct roots *r, const char *entry);
int quirks_bind_end(const struct roots *r);
/* 1 and the entry that is on record, 0 and "", or -errno. Without the lock: that of a bind which goes on, or was left. */
int quirks_bind_read(const struct roots *r, char ret[static QUIRK_ENTRY_MAX]);
