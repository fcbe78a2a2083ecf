/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdio.h>

#include "bench/tell/head.h"

enum bench_format {
        BENCH_TABLE, /* for people: fits the terminal */
        BENCH_JSON,
        BENCH_CSV,
        BENCH_MARKDOWN,
        _BENCH_FORMAT_MAX,
};

/* Prints a whole result. legend: with the columns' names. 0 or a negative errno. */
int bench_tell(const struct bench *b, enum bench_format how, FILE *out, bool legend);

/* Lines above a table, "Disk: ...", and below it, "[1] ...". Both fold on terminals. again: another value of the previous key. 0
 * or a negative errno. */
int bench_print_line(FILE *out, const char *key, bool again, const char *value);
int bench_print_notes(FILE *out, const struct notes *notes);

/* Prints only the table, with the lines above and below it. */
int bench_print(const struct bench *b, FILE *out, bool legend);
/* One line for each run, with all conditions (RFC 4180). The names of the columns come first. The column `round` has round 0. */
int bench_csv(const struct bench *b, FILE *out, bool legend);
/* For a forum or a bug report: without the serial number. Names from a device cannot become markup. */
int bench_markdown(const struct bench *b, FILE *out);
