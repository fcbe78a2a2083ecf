/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdio.h>

#include "bench/bench.h"

/*
 * By gnuplot, without a shell: .svg or .png by the name of the file. Bars with ranges of a comparison, lines over its axis of a
 * sweep. Returns an exit code, told: UASD_EXIT_TOOL_MISSING where there is no gnuplot.
 */
int bench_chart(const struct bench *b, const char *path);
/* Before hours of measuring: is the name one of those, is gnuplot there, can it be made there? The same exit codes. */
int bench_chart_possible(const char *path);

/* For gnuplot, whose picture goes to its standard output. -ENODATA: there is nothing to be seen. */
int chart_script(const struct bench *b, bool svg, FILE *f);
