/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/bus/answer.h"
#include "daemon/manager.h"

/* The uasd-switch at work on a disk is a child of this process, of an earlier uasd, or of coldplug.
 */
/* ACTION_SWITCH. */
void switch_begin(struct entry *e, const struct action *a);
/* For a new disk: finds a uasd-switch that is still at work, or the record of a killed one. untold:
 * by its mark one has ended. */
void switch_adopt(struct entry *e, bool untold);
/* Returns true if a foreign uasd-switch is still at work; its end is posted. */
bool switch_foreign_runs(struct entry *e);
/* Starts uasd-switch --eject. Its end answers the call. Returns 0 or -errno. */
int switch_eject(struct entry *e, struct bus_call *call);
/* uasd ends before them: their callers get an answer. */
void switch_eject_stop(struct manager *m);
/* Returns true until that end: one at a time, since a user may need no password for it. */
bool switch_ejects(const struct entry *e);
/* Called when the end of its switch is in the journal. */
void switch_run_reported(struct entry *e);
/* The entry is freed, the child continues. */
void switch_run_orphan(struct switch_run *run);
/* Returns the last reported step; NULL: none. */
const char *switch_run_step(const struct switch_run *run);
/* Returns the names of the block devices that its disk had at the beginning; "" without a run. */
const char *switch_run_names(const struct switch_run *run);
