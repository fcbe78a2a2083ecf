/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/manager.h"

/* A child that has the claim of a disk. */
struct claimer;
enum claim_news {
        CLAIM_KEPT,
        CLAIM_ENDED, /* the child has ended: the outcome is the reason, or it was stopped */
};
typedef void (*claim_fn)(struct entry *e, enum claim_news news, const struct outcome *o);
/* again: a process that has the disk open without a claim does not matter. */
int claimer_start(struct entry *e, bool again, claim_fn report, struct claimer **ret);
pid_t claimer_pid(const struct claimer *c);
void claimer_stop(struct claimer *c);
/* Stops it, without a report. */
void claimer_orphan(struct claimer *c);
