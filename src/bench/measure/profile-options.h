/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/measure/profile.h"

/* The options of fio that bench itself has to understand; fio checks all others. */

/* The defaults of fio on Linux. */
extern const struct bench_pattern profile_default;
/* Applies one option. 0; -EINVAL: the value is not understood; -EPERM: a profile cannot have the option. */
int profile_pattern_apply(struct bench_pattern *p, const char *name, const char *value);
/* Derives what depends on several options. Returns NULL, or what contradicts itself. */
const char *profile_pattern_finish(struct bench_pattern *p);
