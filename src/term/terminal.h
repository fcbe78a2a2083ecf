/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "common/need.h"

/*
 * The possible style of the standard output. It is determined at the first call and then fixed,
 * because a pager may replace the terminal later.
 */
bool style_utf8(void);
/* On a terminal, unless NO_COLOR is set or TERM is dumb. SYSTEMD_COLORS=, a boolean, has
 * precedence. */
bool style_colours(void);
/* The width of the terminal: $COLUMNS, or its own value. 0: no terminal, lines may have any length.
 */
unsigned style_width(void);

/* Cuts s to a width in cells, and marks the cut. s must have room for two more bytes. */
void style_shorten(char *s, unsigned width);

#define SGR_GREEN "\033[32m"
#define SGR_RED "\033[31m"
#define SGR_YELLOW "\033[33m"
#define SGR_BOLD "\033[1m"
#define SGR_DIM "\033[2m"

/* One of SGR_*, and its end; "" without colours. */
const char *colour(const char *sgr);
const char *colour_end(void);

/*
 * The step of a running switch: one line on the terminal behind stderr, which the next one
 * overwrites. Without a terminal, and with quiet, nothing is shown. Call progress_clear() before
 * any other output.
 */
void progress_open(bool quiet);
/* step: "" for none. `data` is not used. */
void progress_show(const char *disk, const char *step, void *data);
void progress_clear(void);

/*
 * From here on the output goes through a pager, if `wanted` and if the standard output is a
 * terminal that supports it. The pager is $SYSTEMD_PAGER, or $PAGER, or the first one that exists
 * of pager, less, more. An empty value or "cat" means none. All messages must have been printed
 * before. Without a pager the output is printed directly.
 */
void pager_open(bool wanted);

/* ---- a program ---- */

/* A program with its arguments, for the machine whose trees are below `root`; NULL: this one.
 * Returns an enum uasd_exit. */
typedef int (*program_fn)(int argc, char **argv, const char *root);

/* Runs it from the locale to the last byte of the standard output. Returns its exit status;
 * UASD_EXIT_FAILED if output was lost.
 */
int program_run(program_fn run, int argc, char **argv, const char *root);
