/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "common/util.h"
#include "core/machine.h"

/* What an event changes of what is known of a disk. What state that comes to, and what is to be done, is the machine's. */

void learn(struct life *l, const struct event *e, usec_t now);
/* EVENT_RELEASED, also where it is the machine that ends the hold. */
void learn_released(struct life *l, usec_t now);

/* Sets `retry_at`, each time later. */
void learn_retry(struct life *l, usec_t now);

/* A LUN has a block device. */
bool life_has_disks(const struct life *l);
/* A driver has found a SCSI device, with or without a block device. */
bool life_has_luns(const struct life *l);
/* A try that went wrong, as opposed to one that found the disk in use. */
bool life_went_wrong(const struct life *l);
/* It has left the disk to nobody, or found it so: there is nothing that another one could take from anybody. */
bool life_stranded(const struct life *l);
