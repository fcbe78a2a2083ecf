/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * How things may look where the standard output goes. Found out at the first question, and so it stays: a pager stands
 * in between later.
 */
bool style_utf8(void);
/* On a terminal, unless NO_COLOR is there or TERM is dumb; SYSTEMD_COLORS=, a boolean, goes before all that. */
bool style_colours(void);
/* A terminal that can do nothing but print, by TERM. */
bool style_dumb(void);
/* Of the terminal: $COLUMNS, or what it says itself. 0: it is none, lines may have any length. */
unsigned style_width(void);

/* Cuts off what is wider, in cells of the terminal, and marks it. There is room for two bytes more than s has. */
void style_shorten(char *s, unsigned width);

#define SGR_GREEN "\033[32m"
#define SGR_RED "\033[31m"
#define SGR_YELLOW "\033[33m"
#define SGR_BOLD "\033[1m"
#define SGR_DIM "\033[2m"

/* One of SGR_*, and the end of it; "" where there are to be no colours. */
const char *colour(const char *sgr);
const char *colour_end(void);
