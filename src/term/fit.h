/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <libsmartcols/libsmartcols.h>

/* What becomes of a table that is wider than the terminal. */

enum fit_fold {
        FIT_WHOLE,  /* its cells stay in one line */
        FIT_BLANKS, /* broken at blanks */
        FIT_NAMES,  /* the same, and at the very last at dashes */
        FIT_LAST,   /* one line as long as leaving out columns helps, then both */
};

struct fit_column {
        enum fit_fold folds;
        unsigned goes; /* which column is left out first: 1; 0: none of these */
};

/*
 * Of a table with all of its rows, one for each column. What there is no room for is left out or folded, so that no line is wider
 * than the terminal, unless nothing is left to be done. 0 or a negative errno. With no terminal, nothing happens.
 */
int table_fit(struct libscols_table *t, const struct fit_column *how, size_t n);
