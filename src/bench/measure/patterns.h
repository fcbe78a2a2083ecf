/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/measure/profile.h"
#include "bench/options.h"

/* What is asked of a profile: its patterns, one of them, or one with a figure varied. */
struct patterns {
        const struct profile_section **sections; /* as many as the bench has patterns; they point into the profile */
        size_t *clients;                         /* how many machines take part */
};

void patterns_done(struct patterns *p);

/*
 * Fills in b->patterns, b->axis and b->profile. available: bytes there are to work on. n_clients: machines
 * there are, 0: this one alone. Tells what is wrong; returns an enum uasd_exit.
 */
int patterns_make(const struct profile *p, const struct bench_options *o, uint64_t available, size_t n_clients, struct bench *b,
                  struct patterns *ret);
