/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ctl/context.h"

/* Prints what this machine knows about the bridge of a disk, as a contribution. */
int report_hwdb(const struct ctl *c, const struct view *v);
