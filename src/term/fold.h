/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <libsmartcols/libsmartcols.h>
#include <stdio.h>

/* Texts of several lines, broken at blanks: libsmartcols breaks words wherever a line ends. Widths are a terminal's. */

unsigned fold_width(const char *s);
unsigned fold_longest_word(const char *s);
/* Names of ours have dashes: "SEQ1M-Q8T1-read" in parts. */
unsigned fold_longest_part(const char *s);
/*
 * s in lines no wider than that; free it. A word that is wider is cut and marked: nothing else may break it.
 * NULL: no memory. width 0: as it is.
 */
char *fold(const char *s, unsigned width);
/* The same, but a word that is wider is broken behind its dashes. */
char *fold_parts(const char *s, unsigned width);
/* s and an end of line, on a terminal in lines as wide as that, `indent` cells of the first of which are used; the others begin
 * there. */
int fold_print(FILE *out, const char *s, unsigned indent);
/* Its lines are those of the text. */
int fold_column(struct libscols_column *c);
