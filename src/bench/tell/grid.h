/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <libsmartcols/libsmartcols.h>
#include <stdio.h>

#include "bench/tell/stats.h"
#include "bench/tell/units.h"
#include "bench/tell/verdict.h"

/*
 * A result whose patterns are alike but for how many jobs, or clients, there are at once: patterns down, those across.
 * Pure, but for grid_print().
 */

/* As many as a sweep has; what a profile has more of stands in the usual table alone. */
#define GRID_ACROSS_MAX 32

struct grid_row {
        unsigned cells[GRID_ACROSS_MAX]; /* the pattern's index and 1; 0: there is none */
};

struct grid {
        bool by_clients;                /* else by jobs */
        double across[GRID_ACROSS_MAX]; /* rising */
        size_t n_across;
        struct grid_row *rows; /* in the order of the patterns, with two cells or more each */
        size_t n_rows;
};

/* Without rows: nothing varies. */
void grid_make(const struct bench *b, struct grid *ret);
void grid_done(struct grid *g);

/* "128 KiB sequential reads", "4 KiB random reads, 2 clients" */
#define GRID_TEXT_MAX (PATTERN_TEXT_MAX + UNIT_TEXT_MAX + 64)
char *grid_row_text(const struct bench *b, const struct grid *g, size_t row, char ret[static GRID_TEXT_MAX]);
/* Those that any of its patterns was run under. */
size_t grid_drivers(const struct bench *b, const struct grid *g, size_t row, enum driver ret[static _DRIVER_MAX]);
/* The tables there are of it: STATS_BYTES, STATS_IOPS, STATS_MEAN. "IOPS by number of jobs" */
#define GRID_MEASURES (STATS_MEAN + 1)
char *grid_title(const struct grid *g, enum stats_measure m, char ret[static GRID_TEXT_MAX]);
/* The median of the rounds, without what the title says of its unit; "-" if there is none. */
char *grid_cell_text(const struct bench *b, const struct grid *g, size_t row, size_t column, enum driver d, enum stats_measure m,
                     bool utf8, char ret[static UNIT_TEXT_MAX]);

/* One of those tables, of n columns from `from` on. */
struct libscols_table *grid_table(const struct bench *b, const struct grid *g, size_t from, size_t n, enum stats_measure m,
                                  bool utf8, bool legend);

/* On a terminal: as many columns beside each other as there is room for. 0 or a negative errno. */
int grid_print(const struct bench *b, FILE *out, bool legend);
