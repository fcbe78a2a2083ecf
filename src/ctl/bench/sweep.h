/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ctl/bench/bench.h"

/* One pattern asked again and again with one of its figures changed: where a result depends on the question. */

enum sweep_axis {
        SWEEP_DEPTH,  /* "depth": iodepth 1, 2, 4 ... 32 */
        SWEEP_JOBS,   /* "jobs": numjobs 1, 2, 4 ... 32 */
        SWEEP_REGION, /* "region": 0.25, 0.5, 1, 3, 5, 8, 10 GiB in all */
        _SWEEP_MAX,
};

const char *sweep_to_string(enum sweep_axis axis);
int sweep_from_string(const char *s); /* -EINVAL */

struct sweep {
        enum sweep_axis axis;
        struct bench_pattern *patterns; /* "RND4K-Q32T1 depth=4"; all of them go with the section of the pattern they come from */
        uint64_t *values;               /* depth, jobs, bytes */
        size_t n;
};

/*
 * available: bytes there are to work on, larger regions are left out. 0, -ENOMEM; -EOPNOTSUPP: depth does nothing with
 * this pattern, its engine is a synchronous one; -ENOSPC: not even the smallest region fits.
 */
int sweep_make(const struct bench_pattern *base, enum sweep_axis axis, uint64_t available, struct sweep *ret);
void sweep_done(struct sweep *s);
