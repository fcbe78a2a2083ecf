/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "common/gettext.h"
#include "switch/transaction.h"

#define ENDED_BY_SIGNAL N_("ended by a signal before the disk was touched")
/* Sets up and blocks SIGHUP, SIGINT and SIGTERM. Without this call they have their usual effect. */
void signals_begin(const struct transaction *t);
/* From here on signals wait. */
void signals_block(void);
/* From here on a signal ends the process at once: t->step has not touched the disk. */
void signals_allow(const struct transaction *t);
/* Returns true if a signal waits: the switch must end in seconds. From then on each wait takes at
 * most HASTE_BUDGET. */
#define HASTE_BUDGET (3 * USEC_PER_SEC)
bool signal_waits(void);
