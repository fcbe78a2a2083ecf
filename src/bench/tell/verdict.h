/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/tell/stats.h"

/*
 * Decides whether a difference is reliable. Pure. It needs two conditions. A rank test (exact Mann-Whitney) must find a
 * difference; by chance it does so in less than one of a hundred comparisons of independent rounds. And the interval of the ratio
 * (Hodges and Lehmann, same level) must exclude differences that are too small to notice, or that a drifting driver shows by
 * itself. Two means prove nothing here.
 */
#define VERDICT_LEVEL 0.01
#define VERDICT_ROUNDS 5U /* of each, without the one that is dropped; of fewer, any difference could be chance at this level */
#define VERDICT_PRACTICAL 1.05 /* ratio; a smaller one is no difference */

/* Public words: "none", "faster", "slower", "rounds", "failed", "single". */
enum bench_word {
        BENCH_SAME,   /* no difference seen */
        BENCH_FASTER, /* on uas, or in the second of two results */
        BENCH_SLOWER,
        BENCH_ROUNDS, /* not enough rounds to decide */
        BENCH_FAILED, /* one half ended early */
        BENCH_SINGLE, /* there is nothing to compare */
        _BENCH_WORD_MAX,
};
extern const char *const bench_words[_BENCH_WORD_MAX];

struct bench_verdict {
        enum bench_word word;
        struct ratio ratio; /* if has_ratio */
        bool has_ratio;
        double p;
        size_t rounds[2]; /* that count, for each */
};

/* Compares b with a. practical: the smallest ratio that counts, VERDICT_PRACTICAL or more. */
struct bench_verdict verdict_of(const struct samples *a, const struct samples *b, double practical);
/* Compares a pattern under a driver with another one. A difference as small as that between the halves of one does not count. */
struct bench_verdict verdict_between(const struct bench *a, unsigned pattern_a, enum driver driver_a, const struct bench *b,
                                     unsigned pattern_b, enum driver driver_b);
/* Compares uas with usb-storage. */
struct bench_verdict verdict_of_pattern(const struct bench *b, unsigned pattern);

/* "random read, 4 KiB, depth 32". Without names from a profile. */
#define PATTERN_TEXT_MAX 128
char *pattern_text(const struct bench *b, unsigned pattern, char ret[static PATTERN_TEXT_MAX]);
#define PATTERN_TEXT(b, pattern) pattern_text(b, pattern, (char[PATTERN_TEXT_MAX]){})
/*
 * "3.1 times faster on UAS", "no difference seen". on: " on UAS", or "" for a comparison of two results. NULL: for a cell of a
 * table: "3.1x faster", "18% slower", "no difference", "too few rounds", "failed", "".
 */
#define VERDICT_TEXT_MAX 160
char *verdict_text(const struct bench_verdict *v, const char *on, char ret[static VERDICT_TEXT_MAX]);
#define VERDICT_TEXT(v, on) verdict_text(v, on, (char[VERDICT_TEXT_MAX]){})

/*
 * All patterns in one sentence, grouped by verdict, differences first. For example:
 *
 *     random read, 4 KiB, depth 32: 3.1 times faster on UAS
 *
 * Doubts follow. Returns "" without a comparison. finding_text() has the finding. The sentence contains no names from a device or
 * profile.
 */
char *verdict_overall(const struct bench *b, char *ret, size_t size);
/* The event that ended a half, in plain words, and the advice; "" without one. The text of finding.what is not escaped. */
char *finding_text(const struct bench *b, char *ret, size_t size);

/* ---- doubts ---- */

/* Reasons to doubt a figure. Pure. Each is printed beside its figure. Public words, and a sentence. */
enum bench_doubt {
        DOUBT_LINK,   /* "above-link": more than the link can transfer */
        DOUBT_USB2,   /* "usb2": the link is USB 2, which limits the disk */
        DOUBT_DEPTH,  /* "depth": the queue was not as deep as requested */
        DOUBT_SUBMIT, /* "submission": more than half of the latency was submission */
        DOUBT_CACHE,  /* "cache": memory, or the disk's own cache, may have answered */
        DOUBT_REGION, /* "region": smaller than in the profile */
        DOUBT_SYNCS,  /* "syncs": fio synced more often than requested */
        DOUBT_MEMORY, /* "memory": reads did not come from a device, or writes did not go to one */
        DOUBT_DISK,   /* "disk": too fast for a spinning disk */
        DOUBT_SPREAD, /* "spread": the rounds differ by more than 10 % */
        DOUBT_HEAT,   /* "falling": slower in every round */
        DOUBT_HALVES, /* "halves": the figures before and after the other driver differ */
        DOUBT_LOAD,   /* "load": others moved data on the same bus */
        DOUBT_ERRORS, /* "errors": some runs failed and do not count */
        _BENCH_DOUBT_MAX,
};
extern const char *const bench_doubts[_BENCH_DOUBT_MAX];

#define DOUBT_TEXT_MAX 256
/* A sentence with its numbers for each doubt, "" for the others. */
struct doubts {
        char text[_BENCH_DOUBT_MAX][DOUBT_TEXT_MAX];
};
/* The doubts about a pattern under a driver. Also returns them as bits 1 << enum bench_doubt. */
unsigned doubts_of(const struct bench *b, unsigned pattern, enum driver d, struct doubts *ret);

/*
 * The doubts that can cause or hide a difference between the drivers. The others are those that concern both drivers (region,
 * syncs), and a USB 2 link if there is a difference nevertheless.
 */
unsigned doubts_of_comparison(bool differs);

/*
 * Upper limit of a link's data rate in bytes per second; 0: not known. USB 2: 13 packets of 512 bytes in a microframe.
 * SuperSpeed: the rate after the line code (8b/10b at 5 Gbit/s, 128b/132b above), less 32 bytes of header and framing for each
 * packet of 1024. Both protocols stay below it: at 5 Gbit/s usually 0.4 of 0.485 GB/s.
 */
double link_ceiling(unsigned speed_mbps);
