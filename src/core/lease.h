/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/machine.h"

/*
 * What a lease changes in a disk's life. While somebody has it for himself it goes where he wants it and nowhere else;
 * after that it goes back to the driver it had, and policy, overrides and what was tried are as they were before.
 */

/* Where it is to be, under a lease or without: into the life's decision. */
void lease_decide(struct life *l);
/* True if it is not there, and that is to be changed. */
bool lease_wants(const struct life *l);

void lease_begin(struct life *l, bool failed);
/* EVENT_LEASE_SWITCH, EVENT_LEASE_ENDED. False if there is no lease that could ask for it. */
bool lease_move(struct life *l, const struct event *e);
/* After its end: true if it is still to be brought back. */
bool lease_goes_back(const struct life *l);
