/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <libsmartcols/libsmartcols.h>

/* What becomes of cells that are wider than there is room for. */
enum fit_fold {
        FIT_WHOLE,  /* its cells stay in one line */
        FIT_BLANKS, /* broken at blanks */
        FIT_NAMES,  /* the same, and at the very last at dashes */
        FIT_LAST,   /* one line as long as leaving out columns helps, then both */
};

struct table_column {
        const char *name;
        int flags;   /* SCOLS_FL_* */
        double hint; /* of how wide it is, as libsmartcols has it */
        /* For table_fit(): how its cells fold, and which column is left out first: 1; 0: not this one. */
        enum fit_fold folds;
        unsigned goes;
};

/*
 * A table as wide as the terminal, what is cut off by the flags of its columns; its cells are to be harmless.
 */
struct libscols_table *table_new(const struct table_column *columns, size_t n, bool legend);
/* Adds a line with a cell for each column, below the line `above`, or NULL. Returns it. */
struct libscols_line *table_row(struct libscols_table *t, struct libscols_line *above, const char *const *cells);
/* Takes t; r: how filling it went. 0 or a negative errno. */
int table_print(struct libscols_table *t, int r);
