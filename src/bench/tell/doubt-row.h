/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/tell/stats.h"

/* Below, caches of the disk and its bridge show. */
#define DOUBT_CACHE_REGION (1ULL << 30)

/* Of one pattern under one driver, what is asked about more than once. */
struct doubt_row {
        const struct bench *b;
        const struct bench_pattern *p;
        enum driver driver;
        struct samples bytes, iops, p50;
        struct summary rate; /* bytes a second */
        double depth_share, load, halves, lat, slat;
        double device_share;       /* of what was read, or written with O_DIRECT, in the worst round; 1 if that is not
                                      known */
        bool device_written;       /* it was writing */
        uint64_t region, asked;    /* all jobs together; asked: by the profile, 0: all there is */
        double syncs, syncs_asked; /* of the round with the most too many; 0: in none */
        size_t failed, at_once;
};

void doubt_row_read(const struct bench *b, unsigned pattern, enum driver d, struct doubt_row *ret);

/* What is asked once to doubt, and again to say why. */
double doubt_row_median(const struct samples *s);
bool doubt_row_queue_not_full(const struct doubt_row *row);
bool doubt_row_in_memory(const struct doubt_row *row);
/* Hardly a round that was not slower than all before: by chance that happens to one in 24 rows of five. */
bool doubt_row_falls(const struct doubt_row *row, double *ret_share);
