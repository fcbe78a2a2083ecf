/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdio.h>

#include "bench/tell/verdict.h"

/* ---- the lines above and below a table of results, in all formats ---- */

/* Conditions as "key: value". The values are not escaped. */
#define HEAD_MAX 8
#define HEAD_VALUE_MAX 768
struct head_line {
        const char *key;
        char value[HEAD_VALUE_MAX];
};
/* private: includes the serial number of the disk and the path of the file. Returns the number of lines. */
size_t bench_head(const struct bench *b, bool private, struct head_line ret[static HEAD_MAX]);

/* Doubts by number: each sentence appears once, for all figures with it. */
#define NOTES_MAX 64
struct notes {
        char text[NOTES_MAX][DOUBT_TEXT_MAX + 16];
        size_t n;
};
/* Appends its number: "[1] [3]". "[+]": the array is full. */
#define NOTES_TEXT_MAX 128
void notes_add(struct notes *notes, const char *text, char ret[static NOTES_TEXT_MAX]);
/* The same for each doubt of a pattern under a driver. `whose`: the words before the sentence. */
void notes_of(struct notes *notes, const struct bench *b, unsigned pattern, enum driver d, const char *whose,
              char ret[static NOTES_TEXT_MAX]);

/* Its name in a table: "uas", or "-" if it is not known. */
const char *driver_label(enum driver d);
/* "412 MB/s", or for a mix of reads and writes the rate of each: "290 + 289 IOPS". */
#define RATE_TEXT_MAX 72
char *rate_text(const struct bench *b, unsigned pattern, enum driver d, enum stats_measure m, bool utf8,
                char ret[static RATE_TEXT_MAX]);
/* Largest number of rounds that count. */
size_t rounds_of(const struct bench *b);

/* ---- the formats ---- */

enum bench_format {
        BENCH_TABLE, /* for people: fits the terminal */
        BENCH_JSON,
        BENCH_CSV,
        BENCH_MARKDOWN,
        _BENCH_FORMAT_MAX,
};

/* Prints a whole result. legend: with the columns' names. 0 or a negative errno. */
int bench_tell(const struct bench *b, enum bench_format how, FILE *out, bool legend);

/* Lines above a table, "Disk: ...", and below it, "[1] ...". Both fold on terminals. again: another value of the previous key. */
void bench_print_line(FILE *out, const char *key, bool again, const char *value);
void bench_print_notes(FILE *out, const struct notes *notes);

/* Prints only the table, with the lines above and below it. */
int bench_print(const struct bench *b, FILE *out, bool legend);
/* One line for each run, with all conditions (RFC 4180). The names of the columns come first. The column `round` has round 0. */
int bench_csv(const struct bench *b, FILE *out, bool legend);
/* For a forum or a bug report: without the serial number. Names from a device cannot become markup. */
int bench_markdown(const struct bench *b, FILE *out);

/* ---- charts ---- */

/*
 * Draws with gnuplot, without a shell; the name of the file selects .svg or .png. A comparison has bars with ranges, a sweep has
 * lines over its axis. Returns an exit code, and reports errors. UASD_EXIT_TOOL_MISSING: gnuplot is not installed.
 */
int bench_chart(const struct bench *b, const char *path);
/* Checks before hours of measuring: the name, gnuplot, and the directory. The same exit codes. */
int bench_chart_possible(const char *path);

/* Writes the script for gnuplot. It draws to standard output. -ENODATA: there is nothing to draw. */
int chart_script(const struct bench *b, bool svg, FILE *f);
