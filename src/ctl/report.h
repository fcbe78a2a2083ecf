/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/quirk-words.h"
#include "ctl/context.h"
#include "ctl/events.h"

/* Parts of `report`. */

/* Prints what this machine knows about the bridge of a disk, as a contribution. Reports errors. Returns an enum uasd_exit. */
int report_hwdb(const struct ctl *c, const struct view *v);

#define REDACTED "(redacted)"

/*
 * report --redact: removes private data before anything is printed. Serial numbers are replaced by numbers, so that equal ones
 * remain equal.
 */
void redact_all(struct views *views, struct events *events, struct events *kernel);
/* Removes names of files that the administrator made. Those from packages stay. */
void redact_quirks(struct quirk_facts *q);
