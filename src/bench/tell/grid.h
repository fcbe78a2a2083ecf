/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <libsmartcols/libsmartcols.h>
#include <stdio.h>

#include "bench/tell/stats.h"
#include "bench/tell/units.h"
#include "bench/tell/verdict.h"

/*
 * A table of the patterns of a result that differ only in the number of jobs or clients. Rows are patterns, columns are these
 * numbers. Pure, except grid_print().
 */

/* The limit of a sweep. Further numbers of a profile appear only in the usual table. */
#define GRID_ACROSS_MAX 32

struct grid_row {
        unsigned cells[GRID_ACROSS_MAX]; /* index of the pattern plus 1; 0: none */
};

struct grid {
        bool by_clients;                /* otherwise by jobs */
        double across[GRID_ACROSS_MAX]; /* rising */
        size_t n_across;
        struct grid_row *rows; /* in the order of the patterns, with two cells or more each */
        size_t n_rows;
};

/* Without rows: the numbers do not vary. */
void grid_make(const struct bench *b, struct grid *ret);
void grid_done(struct grid *g);

/* "128 KiB sequential reads", "4 KiB random reads, 2 clients" */
#define GRID_TEXT_MAX (PATTERN_TEXT_MAX + UNIT_TEXT_MAX + 64)
char *grid_row_text(const struct bench *b, const struct grid *g, size_t row, char ret[static GRID_TEXT_MAX]);
/* The drivers under which any of its patterns was run. */
size_t grid_drivers(const struct bench *b, const struct grid *g, size_t row, enum driver ret[static _DRIVER_MAX]);
/* Its tables: STATS_BYTES, STATS_IOPS, STATS_MEAN. The title: "IOPS by number of jobs" */
#define GRID_MEASURES (STATS_MEAN + 1)
char *grid_title(const struct grid *g, enum stats_measure m, char ret[static GRID_TEXT_MAX]);
/* The median of the rounds, without the unit if the title has it; "-" without a figure. */
char *grid_cell_text(const struct bench *b, const struct grid *g, size_t row, size_t column, enum driver d, enum stats_measure m,
                     bool utf8, char ret[static UNIT_TEXT_MAX]);

/* One of those tables, with n columns from `from` on. */
struct libscols_table *grid_table(const struct bench *b, const struct grid *g, size_t from, size_t n, enum stats_measure m,
                                  bool utf8, bool legend);

/* Prints as many columns beside each other as the terminal has room for. 0 or a negative errno. */
int grid_print(const struct bench *b, FILE *out, bool legend);
