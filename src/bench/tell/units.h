/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/tell/stats.h"

/* Figures for people: three digits, decimal units. All return ret. */
#define UNIT_TEXT_MAX 32

/* "412 MB/s", "1234 IOPS", "12.3k IOPS", "430 µs" (or "us"), depending on the measure. */
char *figure_text(double value, enum stats_measure m, bool utf8, char ret[static UNIT_TEXT_MAX]);
/* Blocks and regions: "4 KiB", "64 GiB", "1536 B". Other numbers: "4.00 TB". */
char *bytes_text(uint64_t bytes, char ret[static UNIT_TEXT_MAX]);
/* "2026-11-20", or with the time "2026-11-20 10:15"; UTC. */
char *day_text(uint64_t usec, bool time, char ret[static UNIT_TEXT_MAX]);
