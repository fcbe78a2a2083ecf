/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/manager.h"

/* Finds the uasd-switch at work on a disk: a child of this process, of an earlier uasd, or of coldplug. */
/* ACTION_SWITCH. */
void switch_begin(struct entry *e, const struct action *a);
/* For a new disk: finds a uasd-switch that is still at work, or the record of a killed one. */
void switch_adopt(struct entry *e);
/* Returns true if a foreign uasd-switch is still at work; its end is posted. */
bool switch_foreign_runs(struct entry *e);
/* Starts uasd-switch --eject. Its end answers the call. Returns 0 or -errno. */
int switch_eject(struct entry *e, sd_bus_message *call);
