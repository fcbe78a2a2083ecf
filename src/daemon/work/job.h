/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/manager.h"

/* uasd-switch as a child; its end is posted as EVENT_DONE. */
int job_start(struct entry *e, const struct action *a);
/* Starts the recovery after a killed uasd-switch. */
int job_recover(struct entry *e);
/* The entry is freed, the child continues. */
void job_orphan(struct job *j);
/* Returns the last reported step; NULL: none. */
const char *job_step(const struct job *j);
/* Called when the end of its switch is in the journal. */
void job_reported(struct entry *e);
