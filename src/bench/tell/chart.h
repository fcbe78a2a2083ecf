/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdio.h>

#include "bench/bench.h"

/*
 * Draws with gnuplot, without a shell; the name of the file selects .svg or .png. A comparison has bars with ranges, a sweep has
 * lines over its axis. Returns an exit code, and reports errors. UASD_EXIT_TOOL_MISSING: gnuplot is not installed.
 */
int bench_chart(const struct bench *b, const char *path);
/* Checks before hours of measuring: the name, gnuplot, and the directory. The same exit codes. */
int bench_chart_possible(const char *path);

/* Writes the script for gnuplot. It draws to standard output. -ENODATA: there is nothing to draw. */
int chart_script(const struct bench *b, bool svg, FILE *f);
