/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ctl/context.h"

/* Parts of `report`. */

/* Of the machine: versions, and what people have set. daemon: it answers. */
void report_machine(const struct ctl *c, bool daemon);
/* What this machine has found out about the bridge of a disk, to be contributed. Reports errors; returns an enum uasd_exit. */
int report_hwdb(const struct ctl *c, const struct view *v);
