/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <libsmartcols/libsmartcols.h>
#include <stdbool.h>

/* Texts of several lines, broken at blanks. libsmartcols breaks words at the end of a line. Widths
 * are in cells of a terminal. */

unsigned fold_width(const char *s);
/* The blanks that s lacks to that width, for "%*s"; 0: none. */
int fold_blanks(const char *s, unsigned width);
/* The widest word. dashes: words end at dashes as well, like the parts of our names:
 * "SEQ1M-Q8T1-read". */
unsigned fold_longest(const char *s, bool dashes);
/*
 * s in lines of at most that width; free it. If a word is wider, all are broken after their dashes.
 * A part that is still wider is cut and marked. width 0: unchanged.
 */
char *fold(const char *s, unsigned width);
/*
 * s folded to the width of the terminal; free it. The first line begins after `indent` used cells,
 * the others are indented by that. A wider word is whole: the terminal breaks it. Without a
 * terminal: unchanged.
 */
char *fold_indented(const char *s, unsigned indent);
/* Prints the same and an end of line. If the indent leaves no room, s begins in the next line. */
void fold_print(FILE *out, const char *s, unsigned indent);
/* For help texts, which are also folded without a terminal, to 80 columns. */
void fold_paragraph(const char *s);
/* A row of a list: "  left    text". The text begins at the same column in all rows, or in the next
 * line if there is no room. */
void fold_row(const char *left, const char *text);

/* Folding of cells that are wider than their column. */
enum fit_fold {
        FIT_WHOLE,  /* one line */
        FIT_BLANKS, /* broken at blanks */
        FIT_CUT,    /* the same, and a word wider than a narrow column is cut and marked */
        FIT_NAMES,  /* the same, and as a last resort at dashes */
        FIT_SHORT,  /* one line, cut and marked, down to the width `narrow` */
};

struct table_column {
        const char *name; /* the heading */
        int flags;        /* SCOLS_FL_* */
        bool fixed;       /* the heading is the same in all languages: an option takes it */
        /* On a terminal that is too narrow: how its cells fold. The column with goes = 1 is left
         * out first, one with 0 never. */
        enum fit_fold folds;
        unsigned goes;
        unsigned narrow; /* of FIT_SHORT */
};

/* Makes a table as wide as the terminal. Its cells must be harmless. */
struct libscols_table *table_new(const struct table_column *columns, size_t n, bool legend);
/* Adds a line with a cell for each column, below the line `above`, or NULL. Returns it. */
struct libscols_line *table_row(struct libscols_table *t, struct libscols_line *above,
                                const char *const *cells);
/*
 * Takes ownership of t. `columns` has one item for each column. Leaves out or folds columns until
 * no line is wider than the terminal. If that does not suffice, it prints a line for each cell.
 */
void table_print(struct libscols_table *t, const struct table_column *columns, size_t n);
