/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ctl/verbs.h"

/* What `report` does with a file or for the databases. Each tells what goes wrong and returns an enum uasd_exit. */

/* The decisions of a report made anew. */
int report_replay(const struct ctl *c, const char *file);
/* What this machine has found out about the bridge of a disk, to be contributed. */
int report_hwdb(const struct ctl *c, const char *disk);
