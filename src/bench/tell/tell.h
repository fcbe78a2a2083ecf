/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>
#include <stdio.h>

#include "bench/program.h"
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
        BENCH_MARKDOWN_FULL, /* with all columns */
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
int bench_markdown(const struct bench *b, FILE *out, bool legend);
int bench_markdown_full(const struct bench *b, FILE *out, bool legend);

/* ---- charts ---- */

/* Checks before hours of measuring: the name, gnuplot, and the directory. Reports errors. Returns an enum uasd_exit. */
int bench_chart_possible(const char *path);
/*
 * Draws with gnuplot, without a shell; the name of the file, which is checked already, selects .svg or .png. A comparison has
 * bars with ranges, a sweep has lines over its axis. Reports errors. Returns an enum uasd_exit.
 */
int bench_chart(const struct bench *b, const char *path);

/* Writes the script for gnuplot. It draws to standard output. -ENODATA: there is nothing to draw. */
int chart_script(const struct bench *b, bool svg, FILE *f);

/* ---- JSON ---- */

/* The schema of uasd-bench(7). Writing and reading a result preserves it. */
#define BENCH_JSON_VERSION 1
#define BENCH_JSON_SIZE_MAX (16U << 20) /* largest file that is read, in bytes */

json_object *bench_json(const struct bench *b);
/* Parts of it, for comparisons of two results. on: as for verdict_text(). Doubts are added to a list, which is returned. */
json_object *bench_json_verdict(const struct bench_verdict *v, const char *on);
json_object *bench_json_doubts(json_object *list, const struct bench *b, unsigned pattern, enum driver d);
json_object *bench_json_diff(const struct bench *a, const struct bench *b);

/* text has a NUL after `size` bytes, and may have any content. Returns 0. -EBADMSG: not a result. -EPROTONOSUPPORT: a later
 * version. -ENOMEM. */
int bench_json_parse(const char *text, size_t size, struct bench *ret);
/* The same for a file. -EFBIG: too large. dirfd is AT_FDCWD for a path of the user; otherwise no link in dirfd is followed. */
int bench_json_read(int dirfd, const char *path, struct bench *ret);

/* Adds the members of a struct, by its table (bench.h), and returns o. */
json_object *put_fields(json_object *o, const struct field *fields, const void *from);

/* ---- stored results ---- */

/* Results as JSON files in /var/lib/uasd/bench: 20261120T101500Z-ID.json. A file is written as a whole or not at all. */

/* 0 or a negative errno. */
int bench_keep(const struct roots *roots, const struct bench *b);
/* Reads the result that the user names. */
int bench_load(const struct bench_context *c, const char *what, struct bench *ret);
/* Prints in the requested format, and draws a chart if requested. */
int bench_tell_as_asked(const struct bench_context *c, const struct bench *b);
