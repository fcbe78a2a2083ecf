/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ctl/bench/profile.h"

/* Which options of fio a profile may have, and what they make of a pattern. */

/* NULL if it may stand in a profile, else why not. */
const char *profile_option_fault(const char *name, const char *value);
/* Fills in all but the name; 0, -ENOMEM or -EINVAL: two of them contradict each other, ret_fault says which. */
int profile_pattern(const struct profile_section *s, struct bench_pattern *ret, const char **ret_fault);
