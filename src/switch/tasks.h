/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "switch/transaction.h"

/* The tasks of uasd-switch. Each returns the code of the result, if nothing else is said. */

/* steps.c: runs all steps of a switch. */
int transaction_run(struct transaction *t);

/* recover.c: finishes or undoes a switch that was killed. Returns 0 also if there was none. */
int transaction_recover(struct transaction *t);
/* The same before another task on that disk, whose record is about to replace the old one. */
void finish_earlier(struct transaction *t);

/* claim.c: claims the disk until stdin ends. again: opens without a claim do not matter. */
int transaction_claim(struct transaction *t, bool again);

/* eject.c: stops the disk and removes its USB device, if no process uses it. */
int transaction_eject(struct transaction *t);
