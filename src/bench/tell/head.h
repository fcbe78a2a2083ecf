/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdio.h>

#include "bench/tell/doubts.h"

/* What stands above and below a table of results, in whatever form. */

/* Conditions as "key: value". Values are as they came: to be made harmless. */
#define HEAD_MAX 8
#define HEAD_VALUE_MAX 768
struct head_line {
        const char *key;
        char value[HEAD_VALUE_MAX];
};
/* private: with the disk's own number and the file's path, which are nobody else's business. Returns how many there are. */
size_t bench_head(const struct bench *b, bool private, struct head_line ret[static HEAD_MAX]);

/* Doubts by number: a sentence stands once, however many figures it is about. */
#define NOTES_MAX 64
struct notes {
        char text[NOTES_MAX][DOUBT_TEXT_MAX];
        size_t n;
};
/* Appends its number: "[1] [3]"; "[+]": there is no room for another one. */
#define NOTES_TEXT_MAX 128
void notes_add(struct notes *notes, const char *text, char ret[static NOTES_TEXT_MAX]);
/* Those of a pattern under a driver; adds what is new. */
char *notes_of(struct notes *notes, const struct bench *b, unsigned pattern, enum driver d, char ret[static NOTES_TEXT_MAX]);

/* How it is called in a table: "uas", or "-" where it is not known. */
const char *driver_label(enum driver d);
/* "412 MB/s"; of a pattern that mixes reads and writes what each of them had: "290 + 289 IOPS". */
#define RATE_TEXT_MAX 72
char *rate_text(const struct bench *b, unsigned pattern, enum driver d, bool utf8, char ret[static RATE_TEXT_MAX]);
/* Those it was run under, without the parts of sums. */
size_t drivers_of(const struct bench *b, unsigned pattern, enum driver ret[static _DRIVER_MAX]);
/* How many rounds count, at most. */
size_t rounds_of(const struct bench *b);
/* Whether there is anything under both drivers, or should be. */
bool bench_compares(const struct bench *b);
