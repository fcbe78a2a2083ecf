/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/measure/profile.h"
#include "bench/options.h"

/* The job of a pattern. */
struct asked {
        const char *section; /* of the profile */
        size_t clients;      /* number of machines that take part */
};

/*
 * Selects from a profile: its patterns, one of them, or one with a varied figure. Fills in b->patterns, b->axis and b->profile.
 * available: bytes that can be used. n_clients: number of machines, 0: only this one. ret_asked: one for each pattern, to be
 * freed. Reports errors. Returns an enum uasd_exit.
 */
int patterns_make(const struct profile *p, const struct bench_options *o, uint64_t available, size_t n_clients, struct bench *b,
                  struct asked **ret_asked);
