/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/machine.h"

/* Applies an event to the known facts of a disk. The machine derives state and actions from them.
 */

void learn(struct life *l, const struct event *e, usec_t now);
/* EVENT_RELEASED, also if the machine itself ends the hold. */
void learn_released(struct life *l, usec_t now);

/* Sets `retry_at`, with a growing pause. */
void learn_retry(struct life *l, usec_t now);

/* Returns true if a LUN has a block device. */
bool life_has_disks(const struct life *l);
/* Returns true if a driver has found a SCSI device, with or without a block device. */
bool life_has_luns(const struct life *l);
/* Returns true if a switch has failed. A deferred switch has not failed. */
bool life_went_wrong(const struct life *l);
/* Returns true if the disk has no driver after a failure: another try cannot disturb a user. */
bool life_stranded(const struct life *l);

/*
 * The effect of a lease on the life of a disk. During the lease the holder alone chooses the
 * driver. After it the disk goes back to its former driver. Policy, overrides and the record of
 * attempts are as before.
 */

/* Makes the decision, with or without a lease, and stores it in the life. */
void lease_decide(struct life *l);
/* Returns true if the disk is not on its target and should be switched. */
bool lease_wants(const struct life *l);
/* After the end: returns true if the disk should still go back. */
bool lease_goes_back(const struct life *l);
