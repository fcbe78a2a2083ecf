/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/tell/stats.h"

/*
 * Is there a difference that can be trusted? Pure. It takes both: a rank test (exact Mann-Whitney) that would see one by
 * chance in less than one of a hundred comparisons of independent rounds, and the interval of the ratio (Hodges and
 * Lehmann, same level) outside of what nobody would notice, and of what a driver that wanders shows by itself. Two means say
 * nothing here.
 */
#define VERDICT_LEVEL 0.01
#define VERDICT_PRACTICAL 1.05 /* times: less is no difference, seen or not */

/* Public words: "none", "faster", "slower", "rounds", "failed", "single". */
enum bench_word {
        BENCH_SAME,   /* no difference seen */
        BENCH_FASTER, /* on uas, or of the second of two results */
        BENCH_SLOWER,
        BENCH_ROUNDS, /* not enough of them to say */
        BENCH_FAILED, /* one half ended before its time */
        BENCH_SINGLE, /* there is nothing to compare with */
        _BENCH_WORD_MAX,
};
const char *bench_word_to_string(enum bench_word w);

struct bench_verdict {
        enum bench_word word;
        struct ratio ratio; /* where has_ratio says so */
        bool has_ratio;
        double p;
        size_t rounds[2]; /* that count, of each */
};

/* Of each, besides the one that is dropped: below, not even the clearest difference could be told from chance. */
size_t verdict_rounds_needed(void);

/* b against a; practical: how many times is the least difference that counts, VERDICT_PRACTICAL or more. */
void verdict_of(const struct samples *a, const struct samples *b, double practical, struct bench_verdict *ret);
/* uas against usb-storage. What one driver shows between its own halves is no difference between the two. */
void verdict_of_pattern(const struct bench *b, unsigned pattern, struct bench_verdict *ret);

/* "4 KiB random reads at depth 32" */
#define PATTERN_TEXT_MAX 128
char *pattern_text(const struct bench_pattern *p, char ret[static PATTERN_TEXT_MAX]);
/* The same without a word on jobs. */
char *pattern_text_any_jobs(const struct bench_pattern *p, char ret[static PATTERN_TEXT_MAX]);
/* "3.1 times faster on UAS", "no difference seen". on: " on UAS", or "" where two results are compared. */
#define VERDICT_TEXT_MAX 160
char *verdict_text(const struct bench_verdict *v, const char *on, char ret[static VERDICT_TEXT_MAX]);
/* The same in a cell's room: "3.1x faster", "18% slower", "no difference", "too few rounds", "failed", "". */
char *verdict_short(const struct bench_verdict *v, char ret[static VERDICT_TEXT_MAX]);

/*
 * All patterns in one sentence, the same words together, differences first: "4 KiB random reads at depth 32: 3.1 times faster on
 * UAS; sequential: no difference seen; with doubts: cache". "" if nothing is compared. Of what was found, see finding_text(). No
 * names of others in it.
 */
char *verdict_overall(const struct bench *b, char *ret, size_t size);
/* What ended a half, in plain words, with what is to be done; "" if nothing did. finding.what in it is as it came. */
char *finding_text(const struct bench *b, char *ret, size_t size);
