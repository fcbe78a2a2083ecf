/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdio.h>

#include "bench/bench.h"

/* A line a run with all conditions, RFC 4180, names of the columns first. Round 0 is among them: `round` tells. */
int bench_csv(const struct bench *b, FILE *out, bool legend);
