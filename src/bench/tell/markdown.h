/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdio.h>

#include "bench/bench.h"

/* For a forum or a bug report; without the serial number. What a device named cannot become markup. */
int bench_markdown(const struct bench *b, FILE *out);
