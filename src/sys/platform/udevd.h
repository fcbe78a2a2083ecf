/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "sys/io/roots.h"

/* Returns true if a udevd takes events, or PID 1 would start it. It may start and end at any time.
 */
bool udevd_runs(const struct roots *roots);
