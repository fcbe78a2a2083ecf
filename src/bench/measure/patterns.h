/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/measure/profile.h"
#include "bench/options.h"

/* How a pattern of the bench is asked of fio. */
struct asked {
        const char *section; /* of the profile */
        size_t clients;      /* how many machines take part */
};

/*
 * What is asked of a profile: its patterns, one of them, or one with a figure varied. Fills in b->patterns, b->axis and
 * b->profile. available: bytes there are to work on. n_clients: machines there are, 0: this one alone. ret_asked: as many, to
 * be freed. Tells what is wrong; returns an enum uasd_exit.
 */
int patterns_make(const struct profile *p, const struct bench_options *o, uint64_t available, size_t n_clients, struct bench *b,
                  struct asked **ret_asked);
