/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/machine.h"

/*
 * The effect of a lease on the life of a disk. During the lease the holder alone chooses the driver. After it the disk goes back
 * to its former driver. Policy, overrides and the record of attempts are as before.
 */

/* Makes the decision, with or without a lease, and stores it in the life. */
void lease_decide(struct life *l);
/* Returns true if the disk is not on its target and should be switched. */
bool lease_wants(const struct life *l);

void lease_begin(struct life *l, bool failed);
/* EVENT_LEASE_SWITCH, EVENT_LEASE_ENDED. Returns false if there is no lease, or it has ended. */
bool lease_move(struct life *l, const struct event *e);
/* After the end: returns true if the disk should still go back. */
bool lease_goes_back(const struct life *l);
