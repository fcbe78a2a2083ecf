/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <libsmartcols/libsmartcols.h>

/* Texts of several lines, broken at blanks: libsmartcols breaks words wherever a line ends. Widths are a terminal's. */

unsigned fold_width(const char *s);
unsigned fold_longest_word(const char *s);
/*
 * s in lines no wider than that; free it. A word that is wider is cut and marked: nothing else may break it.
 * NULL: no memory. width 0: as it is.
 */
char *fold(const char *s, unsigned width);
/* Its lines are those of the text. */
int fold_column(struct libscols_column *c);
