/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/measure/profile.h"
#include "bench/options.h"

/*
 * Selects from a profile: its patterns, one of them, or one with a varied figure. Fills in b->patterns, b->axis and b->profile.
 * available: bytes that can be used. n_clients: number of machines, 0: only this one. Reports errors. Returns an enum uasd_exit.
 */
int patterns_make(const struct profile *p, const struct bench_options *o, uint64_t available, size_t n_clients, struct bench *b);

/* One pattern repeated with different values of one figure, which shows how the result depends on that figure. */

#define SWEEP_VALUES_MAX 32
struct sweep {
        enum bench_axis axis;              /* BENCH_AXIS_NONE: the pattern as it is, with one value */
        uint64_t values[SWEEP_VALUES_MAX]; /* depth, jobs, bytes of the whole region, seconds, machines; rising */
        size_t n;
        bool listed; /* the user listed them */
};

/*
 * Parses "depth", "jobs=1,4", "region=256M,1G". Returns 0. -EINVAL: not such a list. -ERANGE: a value is too small or too large.
 * -EEXIST: a value occurs twice. ret_word is the wrong value within s, or NULL if another part is wrong.
 */
int sweep_parse(const char *s, struct sweep *ret, const char **ret_word);
/* Numbers of machines that take part: 1, 2, 4, 8 ... and n. Without machines (0) nothing is varied. */
struct sweep sweep_clients(size_t n);

/*
 * The points, each a pattern: "RND4K-Q32T1 depth=4". available: bytes that can be used. Larger regions are left out unless they
 * are listed. Returns their number. -EOPNOTSUPP: depth has no effect, because the engine of the pattern is synchronous. -ENOSPC:
 * not even the smallest region fits, or a listed one does not.
 */
int sweep_make(const struct bench_pattern *base, const struct sweep *s, uint64_t available,
               struct bench_pattern ret[static SWEEP_VALUES_MAX]);
