/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "switch/transaction.h"

/*
 * The step of a switch: finds users; opens, locks and watches the nodes. Sets `offline` if a LUN
 * cannot be opened. Succeeds without a claim if the disk has no LUN.
 */
int step_claim(struct transaction *t);
