/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "switch/transaction.h"

/* The step before the disk is touched: the trial is on record (sys/state/history.h). */
int step_trial(struct transaction *t);
/* Distrusts a disk that failed under uas, unless the kernel's log or a sleep excuses it. */
void undo_trial(struct transaction *t);
/* Ends the trial of a disk that is off uas again. */
void trial_leave(struct transaction *t);
