/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "switch/transaction.h"

/* The lock and the record of a switch (sys/state/switch-record.h). */

int record_begin(struct transaction *t); /* -EALREADY: another uasd-switch holds the lock */
/* -ESTALE: another process has removed or replaced the record since it was first written, and the
 * disk belongs to it. */
int record_write(struct transaction *t, const char *step);
/* -ESTALE: the record or the attachment is no longer ours. A child that hung in the kernel and woke
 * up late stops here. */
int record_check(struct transaction *t);
void record_end(struct transaction *t);
/* Returns 1 and the fields of a record that a killed process left, or 0 if there is none.
 * ret_replugged: the record is of an earlier attachment; only its drivers and its step are read. */
int record_load(struct transaction *t, bool *ret_replugged);
