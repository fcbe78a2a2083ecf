/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "switch/transaction.h"

/*
 * Claims a disk on the way back, before it is unbound, and keeps the claim until undo_claim_end().
 * Children claim it, since the open of a sick disk may hang. Returns 0, -EBUSY if it is in use, or
 * another -errno if that is unknown. On any error the disk stays on its driver. udev's workers and
 * the switch's own examination do not count as users: they only read the disk because it is new.
 * Waiting for them would keep the disk where it hangs.
 */
int undo_claim_begin(struct transaction *t);
/* Returns true if the block device that this LUN has now is claimed. */
bool undo_claim_has(const struct transaction *t, const struct lun *l);
/* unbound: waits until those readers have closed the disk. Otherwise its names would not be free
 * again. */
void undo_claim_end(struct transaction *t, bool unbound);
