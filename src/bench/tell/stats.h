/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/bench.h"

/* Figures from the runs of a pattern under a driver. Pure. */

/* More rounds than a user waits for. Further rounds of a file are left out. */
#define STATS_SAMPLES_MAX 64

/* The runs that count, in their order: without round 0, failed runs, and a host's own part of a sum. */
struct rounds {
        const struct bench_run *runs[STATS_SAMPLES_MAX];
        size_t n;
};

struct samples {
        double values[STATS_SAMPLES_MAX]; /* in the order of the rounds */
        size_t n;
};

struct summary {
        size_t n; /* 0: the other members mean nothing */
        double median, min, max, average;
        double spread_percent; /* range over average */
};

/* Reads, writes, or both for a mix: then rates are added, and the worse latency counts. */
enum stats_measure {
        STATS_BYTES, /* per second */
        STATS_IOPS,
        STATS_MEAN, /* ns */
        STATS_CLAT, /* ns; not known: negative */
        STATS_P50,
        STATS_P95,
        STATS_P99,
        _STATS_MEASURE_MAX,
};

double stats_of_run(const struct bench_run *r, enum stats_measure m);
bool stats_run_counts(const struct bench_run *r);
struct rounds stats_rounds(const struct bench *b, unsigned pattern, enum driver d);
/* The drivers that have runs of a pattern, which need not count. Returns their number. */
size_t stats_drivers(const struct bench *b, unsigned pattern, enum driver ret[static _DRIVER_MAX]);
/* Figures of these rounds, and their summary. */
struct samples stats_samples(const struct bench *b, unsigned pattern, enum driver d, enum stats_measure m);
struct summary stats_of(const struct bench *b, unsigned pattern, enum driver d, enum stats_measure m);
/* Medians of their reads and of their writes separately. */
void stats_sides(const struct bench *b, unsigned pattern, enum driver d, enum stats_measure m, double *ret_read,
                 double *ret_write);
struct summary stats_summary(const struct samples *s);
/* The median of the values from `from` up to, and without, `to`; 0 without values. */
double stats_median(const struct samples *s, size_t from, size_t to);

/*
 * Compares the same driver before and after the other one: the ratio of the medians of its two halves, 1 or more. 1 if it does
 * not have exactly two halves.
 */
double stats_halves(const struct bench *b, unsigned pattern, enum driver d);

/*
 * The drift of a driver by itself, as a ratio of 1 or more: that of the quarters of its rounds whose medians are furthest apart.
 * 1 if neighbouring rounds are not more alike than by chance, or if there are too few rounds. All values are above 0.
 */
#define STATS_WANDER_ROUNDS 8 /* of each */
double stats_wander(const struct samples *a, const struct samples *b);

/* IOPS for small random blocks, bytes for all others. */
enum stats_measure stats_figure(const struct bench_pattern *p);

/*
 * Exact, two-sided Mann-Whitney: the share of all arrangements of these values, with ties, that are as far apart or further. 1 if
 * one of them is empty.
 */
double stats_rank_p(const struct samples *a, const struct samples *b);
/* The smallest p that is possible with these numbers. */
double stats_least_p(size_t n, size_t m);

/*
 * Hodges and Lehmann: the median of all ratios b/a, and an interval by the exact ranks. It contains the true ratio at least as
 * often as 1 - level. All values are above 0. Returns false if there are too few for that level, or if there is no divisor.
 */
struct ratio {
        double middle, low, high;
};
bool stats_ratio(const struct samples *a, const struct samples *b, double level, struct ratio *ret);

/* Figures for people: three digits, decimal units. All return ret. The text of a macro is good until the end of its block. */
#define UNIT_TEXT_MAX 32

/* "412 MB/s", "1234 IOPS", "12.3k IOPS", "430 µs" (or "us"), depending on the measure. */
char *figure_text(double value, enum stats_measure m, bool utf8, char ret[static UNIT_TEXT_MAX]);
#define FIGURE_TEXT(value, m, utf8) figure_text(value, m, utf8, (char[UNIT_TEXT_MAX]){})
/* Blocks and regions: "4 KiB", "64 GiB", "1536 B". Other numbers: "4.00 TB". */
char *bytes_text(uint64_t bytes, char ret[static UNIT_TEXT_MAX]);
#define BYTES_TEXT(bytes) bytes_text(bytes, (char[UNIT_TEXT_MAX]){})
/* "2026-11-20 10:15"; UTC. */
char *day_text(uint64_t usec, char ret[static UNIT_TEXT_MAX]);
#define DAY_TEXT(usec) day_text(usec, (char[UNIT_TEXT_MAX]){})
