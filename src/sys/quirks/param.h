/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/keepoff.h"
#include "sys/io/roots.h"

/*
 * The quirks parameter of usb_storage. A change is a read, a write, and a read to check it. The
 * kernel has no compare-and-swap, so all uasd programs take a lock. Entries of other programs stay
 * as they are.
 */

/*
 * Takes the machine-wide lock; closing the descriptor releases it. Waits at most `usec`, time
 * awake. If a killed uasd-switch has left the entry of its bind in the parameter, the entry is
 * removed now.
 */
int quirks_lock(const struct roots *roots, usec_t usec);
int quirks_param_read(const struct roots *roots, char ret[static QUIRKS_MAX + 1]);
/* Returns the inode of the parameter. Each load of usb_storage makes a new one, without our former
 * entries. 0: not loaded. */
uint64_t quirks_param_inode(const struct roots *roots);
/* Puts our entry first. -ENOSPC: no room. -ENOENT: usb_storage is not loaded. */
int quirks_param_push(const struct roots *roots, const char *entry);
/* Removes the entry. Returns 0 also if it is not there. */
int quirks_param_pop(const struct roots *roots, const char *entry);

/*
 * Adds an entry for the time of a bind; the caller has the lock. The entry is recorded before it is
 * added, since only its text finds it for the removal. -EBUSY: an earlier one is still there.
 */
int quirks_bind_begin(const struct roots *roots, const char *entry);
int quirks_bind_end(const struct roots *roots);
/* Returns 1 and the recorded entry, 0 and "", or -errno. Without the lock it may be of a present
 * bind, or a leftover. */
int quirks_bind_read(const struct roots *roots, char ret[static QUIRK_ENTRY_MAX]);
