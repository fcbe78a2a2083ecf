/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <libsmartcols/libsmartcols.h>
#include <stdio.h>

#include "bench/tell/head.h"

enum bench_format {
        BENCH_TABLE, /* for people: as wide as the terminal, with bars */
        BENCH_JSON,
        BENCH_CSV,
        BENCH_MARKDOWN,
        _BENCH_FORMAT_MAX,
};

/* All of a result. legend: with the columns' names. 0 or a negative errno. */
int bench_tell(const struct bench *b, enum bench_format how, FILE *out, bool legend);

/* Above a table "Disk: ...", below it "[1] ..."; both fold on terminals. again: another value of the key before. 0 or a negative
 * errno. */
int bench_print_line(FILE *out, const char *key, bool again, const char *value);
int bench_print_notes(FILE *out, const struct notes *notes);

/* The same table as for a terminal, with all columns but the bar and without names of others. */
struct libscols_table *bench_table_for_markdown(const struct bench *b, struct notes *notes);

/* The table alone, with what stands above and below it. */
int bench_print(const struct bench *b, FILE *out, bool legend);
/* A line a run with all conditions, RFC 4180, names of the columns first. Round 0 is among them: `round` tells. */
int bench_csv(const struct bench *b, FILE *out, bool legend);
/* For a forum or a bug report; without the serial number. What a device named cannot become markup. */
int bench_markdown(const struct bench *b, FILE *out);
