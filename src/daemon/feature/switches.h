/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/manager.h"

/* Which uasd-switch is at work on a disk: a child of this process, of an earlier uasd, or of coldplug. */
/* ACTION_SWITCH. */
void switch_begin(struct entry *e, const struct action *a);
/* A new disk: a uasd-switch still at work, or the record of one that was killed. */
void switch_adopt(struct entry *e);
/* Returns true if a uasd-switch that is no child of this process is still at work; its end is posted. */
bool switch_foreign_runs(struct entry *e);
