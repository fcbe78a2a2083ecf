/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/bench.h"

/* What the kept runs of a pattern under a driver come to. Pure. */

/* More rounds than anybody waits for; what a file has more of is left out. */
#define STATS_SAMPLES_MAX 64

/* Figures of the runs that count: without round 0, without runs that failed, without a host's own part of a sum. */
struct samples {
        double values[STATS_SAMPLES_MAX]; /* in the order they were run */
        size_t n;
};

struct summary {
        size_t n; /* 0: nothing else is meant */
        double median, min, max;
        double spread_percent; /* range over average */
};

/* Reads, writes, or both where the pattern mixes them: then rates are added, and latencies the worse of the two. */
enum stats_measure {
        STATS_BYTES, /* per second */
        STATS_IOPS,
        STATS_MEAN, /* ns */
        STATS_P50,
        STATS_P95,
        STATS_P99,
        _STATS_MEASURE_MAX,
};

double stats_of_run(const struct bench_run *r, enum stats_measure m);
bool stats_run_counts(const struct bench_run *r);
void stats_samples(const struct bench *b, unsigned pattern, enum driver d, enum stats_measure m, struct samples *ret);
/* Medians of what was read and of what was written, each for itself, of the runs that count. */
void stats_sides(const struct bench *b, unsigned pattern, enum driver d, enum stats_measure m, double *ret_read,
                 double *ret_write);
void stats_summary(const struct samples *s, struct summary *ret);
/* Of n values; they are reordered. 0 if there is none. */
double stats_median(double *values, size_t n);

/*
 * What the same driver shows before and after the other one had the disk: how many times the median of one half is that of the
 * other, 1 or more; 1 if it was not run in just two halves.
 */
double stats_halves(const struct bench *b, unsigned pattern, enum driver d);

/*
 * How many times, 1 or more, rounds of one driver have wandered by themselves: the medians of the quarters of a driver's rounds
 * that are furthest apart. 1 where neighbouring rounds are no more alike than chance has it, or there are too few to tell. All
 * are above 0.
 */
#define STATS_WANDER_ROUNDS 8 /* of each */
double stats_wander(const struct samples *a, const struct samples *b);

/* Small random blocks are counted, everything else is weighed. */
enum stats_measure stats_figure(const struct bench_pattern *p);

/*
 * Exact, two-sided Mann-Whitney: the share of all ways to deal these values, ties included, that lie as far apart or further.
 * 1 if one of them is empty.
 */
double stats_rank_p(const struct samples *a, const struct samples *b);
/* The least p that so many can give at all. */
double stats_least_p(size_t n, size_t m);

/*
 * Hodges and Lehmann: the median of all ratios b/a, and the interval that holds the true one at least as often as 1 - level
 * says, by the exact ranks. All values are above 0. False: too few for that level, or nothing to divide by.
 */
struct ratio {
        double middle, low, high;
};
bool stats_ratio(const struct samples *a, const struct samples *b, double level, struct ratio *ret);
