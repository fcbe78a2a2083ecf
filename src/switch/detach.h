/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "switch/transaction.h"

/* Returns 0 if the disk may lose its driver or its LUNs now: no signal waits, and the hold lasts
 * long enough. */
int may_begin(struct transaction *t);
/* Writes the record before the disk is touched: the process that finishes this switch brings it
 * back. */
int will_move(struct transaction *t);
/* From here on the events of new disks are kept. */
void listen_for_disks(struct transaction *t);
/* Unbinds the driver of a disk that the kernel has not looked at yet. */
int step_detach(struct transaction *t);
/* Returns true after step_detach(), as long as no driver has the disk: no program knows of this
 * switch. */
bool is_unknown_yet(const struct transaction *t);
