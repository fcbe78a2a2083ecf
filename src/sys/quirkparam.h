/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/quirks.h"
#include "sys/roots.h"

/*
 * The quirks parameter of usb_storage, written by read, modify, write and read again: the kernel offers no
 * compare-and-swap, so everybody of ours holds the lock, and entries of others are left as they are.
 */

/* Takes the machine-wide lock; close the descriptor to give it back. Waits at most until `deadline`. */
int quirks_lock(const struct roots *r, uint64_t deadline);
int quirks_param_read(const struct roots *r, char ret[static QUIRKS_MAX + 1]);
/* Puts our entry first. -ENOSPC: no room. -ENOENT: usb_storage is not there. */
int quirks_param_push(const struct roots *r, const char *entry);
/* Takes the entry out again. 0 also if it is not there. */
int quirks_param_pop(const struct roots *r, const char *entry);
