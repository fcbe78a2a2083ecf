/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ctl/context.h"

/* uasctl policy --kernel: what: a disk, or NULL for all that is kept. Returns an enum uasd_exit. */
int policy_kernel(const struct ctl *c, const char *what);
