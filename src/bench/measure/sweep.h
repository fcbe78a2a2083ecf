/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/bench.h"

/* One pattern asked again and again with one of its figures changed: where a result depends on the question. */

enum sweep_axis {
        SWEEP_DEPTH,  /* "depth": iodepth 1, 2, 4 ... 32 */
        SWEEP_JOBS,   /* "jobs": numjobs 1, 2, 4 ... 32 */
        SWEEP_REGION, /* "region": 0.25, 0.5, 1, 3, 5, 8, 10 GiB in all */
        _SWEEP_MAX,
};

const char *sweep_to_string(enum sweep_axis axis);
int sweep_from_string(const char *s); /* -EINVAL */

/* What is asked: "depth", "jobs=1,4", "region=256M,1G". */
#define SWEEP_VALUES_MAX 32
struct sweep_question {
        enum sweep_axis axis;
        uint64_t values[SWEEP_VALUES_MAX]; /* rising */
        size_t n;                          /* 0: those above */
};

/*
 * 0; -EINVAL: it is no such list; -ERANGE: depth and jobs go from 1 to 32, a region begins at 1 MiB; -EEXIST: a value comes
 * twice. ret_word: the value that is wrong, within s; NULL: another part is.
 */
int sweep_parse(const char *s, struct sweep_question *ret, const char **ret_word);

struct sweep {
        enum sweep_axis axis;
        struct bench_pattern *patterns; /* "RND4K-Q32T1 depth=4"; all of them go with the section of the pattern they come from */
        uint64_t *values;               /* depth, jobs, bytes */
        size_t n;
};

/*
 * available: bytes there are to work on, larger regions are left out unless they were asked for by name. 0, -ENOMEM;
 * -EOPNOTSUPP: depth does nothing with this pattern, its engine is a synchronous one; -ENOSPC: not even the smallest region
 * fits, or one that was asked for does not.
 */
int sweep_make(const struct bench_pattern *base, const struct sweep_question *q, uint64_t available, struct sweep *ret);
void sweep_done(struct sweep *s);
