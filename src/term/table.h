/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <libsmartcols/libsmartcols.h>
#include <stdbool.h>
#include <stddef.h>

/* Folding of cells that are wider than their column. */
enum fit_fold {
        FIT_WHOLE,  /* one line */
        FIT_BLANKS, /* broken at blanks */
        FIT_CUT,    /* the same, and a word wider than a narrow column is cut and marked */
        FIT_NAMES,  /* the same, and as a last resort at dashes */
        FIT_LAST,   /* one line, unless leaving out columns does not suffice; then as FIT_NAMES */
};

struct table_column {
        const char *name; /* the heading */
        int flags;        /* SCOLS_FL_* */
        bool fixed;       /* the heading is the same in all languages: an option takes it */
        /* On a terminal that is too narrow: how its cells fold. The column with goes = 1 is left out first, one with 0 never. */
        enum fit_fold folds;
        unsigned goes;
};

/* Makes a table as wide as the terminal. Its cells must be harmless. */
struct libscols_table *table_new(const struct table_column *columns, size_t n, bool legend);
/* Adds a line with a cell for each column, below the line `above`, or NULL. Returns it. */
struct libscols_line *table_row(struct libscols_table *t, struct libscols_line *above, const char *const *cells);
/*
 * Takes ownership of t. `columns` has one item for each column. Leaves out or folds columns until no line is wider than the
 * terminal. If that does not suffice, it prints a line for each cell. 0 or a negative errno.
 */
int table_print(struct libscols_table *t, const struct table_column *columns, size_t n);
