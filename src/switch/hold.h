/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "switch/transaction.h"

/* The latest start of the undo that ends before the hold does. */
struct awake undo_deadline(const struct transaction *t);
/* The end of a budget, or the latest start of the undo if that is earlier. */
struct awake step_deadline(const struct transaction *t, usec_t budget);
/* Time that PID 1 has for an answer, usec. Meanwhile the disk is locked, and udev cannot process
 * its events. */
#define PID1_USEC (2 * USEC_PER_SEC)
/* for a disk without a driver, which no program has seen */
#define PID1_LONG_USEC (5 * USEC_PER_SEC)
/* Starts the dead man's timer before the disk loses its driver, if a hold will need it. -ETIMEDOUT:
 * PID 1 does not answer. */
int switch_hold_prepare(struct transaction *t);
/* The record that is written next says that udev's helper is to wait with each new disk. */
void switch_hold_await(struct transaction *t);
/* Called before the bind: udev must not announce the new disk before it has been tried. */
void switch_hold_begin(struct transaction *t);
/* If the switch takes longer than udev's helper waits, a hold begins: first the dead man's timer,
 * then the mark. */
void switch_hold_if_long(struct transaction *t);
/* Time until then, msec; -1: no hold will begin. */
int switch_hold_if_long_left(const struct transaction *t);
/* udev continues. known: it may know the disk, which is held while it is brought back. */
void switch_hold_for_undo(struct transaction *t, bool known);
void switch_hold_end(struct transaction *t);
