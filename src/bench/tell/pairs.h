/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/tell/head.h"
#include "bench/tell/verdict.h"

/* Two results: which of their figures answer the same question, and what was not the same about it. Pure. */

struct pair {
        unsigned a, b; /* patterns */
        enum driver driver_a, driver_b;
        struct samples samples_a, samples_b;
        struct bench_verdict verdict;
};

/* In the order of the patterns of a, in a list to be freed. Their number. */
size_t pairs_find(const struct bench *a, const struct bench *b, struct pair **ret);

/* What differs in how the two were asked, a sentence each: region, engine, duration. Their number. */
#define PAIR_DIFFERS_MAX 4
size_t pair_differs(const struct bench *a, const struct bench *b, const struct pair *p,
                    char ret[static PAIR_DIFFERS_MAX][DOUBT_TEXT_MAX]);
