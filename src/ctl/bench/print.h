/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdio.h>

#include "ctl/bench/bench.h"

enum bench_format {
        BENCH_TABLE, /* for people: as wide as the terminal, with bars */
        BENCH_JSON,
        BENCH_CSV,
        BENCH_MARKDOWN,
        _BENCH_FORMAT_MAX,
};

/* All of a result. legend: with the columns' names. 0 or a negative errno. */
int bench_tell(const struct bench *b, enum bench_format how, FILE *out, bool legend);

/* The table alone, with what stands above and below it. */
int bench_print(const struct bench *b, FILE *out, bool legend);
