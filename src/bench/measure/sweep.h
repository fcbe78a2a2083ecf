/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/bench.h"

/* One pattern asked again and again with one of its figures changed: where a result depends on the question. */

#define SWEEP_VALUES_MAX 32
struct sweep {
        enum bench_axis axis;              /* BENCH_AXIS_NONE: the pattern as it is, with one value */
        uint64_t values[SWEEP_VALUES_MAX]; /* depth, jobs, bytes of the region in all, machines; rising */
        size_t n;
        bool listed; /* they were asked for one by one */
};

/*
 * "depth", "jobs=1,4", "region=256M,1G". 0; -EINVAL: it is no such list; -ERANGE: depth and jobs go from 1 to 32, a region
 * begins at 1 MiB; -EEXIST: a value comes twice. ret_word: the value that is wrong, within s; NULL: another part is.
 */
int sweep_parse(const char *s, struct sweep *ret, const char **ret_word);
/* How many of n machines take part in turn: 1, 2, 4, 8 ... and n itself. n: 0: none, and nothing is varied. */
struct sweep sweep_clients(size_t n);

/*
 * The points, each a pattern: "RND4K-Q32T1 depth=4". available: bytes there are to work on; larger regions are left out unless
 * they are listed. Their number; -EOPNOTSUPP: depth does nothing with this pattern, its engine is a synchronous one; -ENOSPC: not
 * even the smallest region fits, or one that is listed does not.
 */
int sweep_make(const struct bench_pattern *base, const struct sweep *s, uint64_t available,
               struct bench_pattern ret[static SWEEP_VALUES_MAX]);
