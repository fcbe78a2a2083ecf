/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/manager.h"

/* uasd-switch as a child; its end is posted as EVENT_DONE. */
int job_start(struct entry *e, const struct action *a);
/* Puts in order what a uasd-switch that was killed has left. */
int job_recover(struct entry *e);
/* The entry goes, the child goes on. */
void job_orphan(struct job *j);
/* The step it is at, as far as it has said so; NULL: there is none. */
const char *job_step(const struct job *j);
/* The end of its switch is in the journal. */
void job_reported(struct entry *e);
