/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ctl/context.h"

/* What `report` consists of, or does with a file or for the databases. Those that return an int tell what goes wrong, by an enum uasd_exit. */

/* Of the machine: versions, and what people have set. daemon: it answers. */
void report_machine(const struct ctl *c, bool daemon);
/* The decisions of a report made anew. */
int report_replay(const struct ctl *c, const char *file);
/* What this machine has found out about the bridge of a disk, to be contributed. */
int report_hwdb(const struct ctl *c, const char *disk);
