/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdio.h>

#include "bench/bench.h"

/* The chart for gnuplot, whose picture goes to its standard output. -ENODATA: there is nothing to be seen. */
int chart_script(const struct bench *b, bool svg, FILE *f);
