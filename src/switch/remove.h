/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdatomic.h>

#include "common/gettext.h"
#include "switch/transaction.h"

/* The only file that writes `delete`, `unbind` and `remove`. All return -EBUSY if the rule there
 * forbids it. */

#define NOT_CLAIMED                                                                                \
        N_("a block device is there, or may be, that is not claimed: did another program rescan the host?")
/* Deletes the LUN `i` of the disk. dir: the interface's directory; begun: becomes i + 1 immediately
 * before the write. */
int lun_delete(const struct transaction *t, int dir, size_t i, atomic_size_t *begun);
int driver_unbind(struct transaction *t, enum driver d);
/* Removes the USB device: the kernel disables its port until the disk is plugged in again. */
int device_remove(struct transaction *t);

/* The rule is not about these: */
/* Opens the directory of the interface, if it is still that of the same attachment. Returns a
 * descriptor or -errno. */
int interface_open(struct transaction *t);
int driver_bind(struct transaction *t, enum driver d);

/* delete.c: claims the disk and deletes its LUNs. From then on the phase is PHASE_TAKEN. */
int luns_delete(struct transaction *t);
