/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/tell/verdict.h"

#include <math.h>

#include "common/names.h"
#include "common/util.h"
#include "term/terminal.h"

#define TIMES_FROM 1.5     /* below it, a percentage is clearer */
#define DIFFERENCES_TOLD 4 /* the largest; the table has all */
#define DOUBTS_TOLD 3      /* the notes of the table have all */

const char *const bench_words[_BENCH_WORD_MAX] = {
        [BENCH_SAME] = "none",     [BENCH_FASTER] = "faster", [BENCH_SLOWER] = "slower",
        [BENCH_ROUNDS] = "rounds", [BENCH_FAILED] = "failed", [BENCH_SINGLE] = "single",
};

static bool differs(const struct bench_verdict *v)
{
        return v->word == BENCH_FASTER || v->word == BENCH_SLOWER;
}

struct bench_verdict verdict_of(const struct samples *a, const struct samples *b, double practical)
{
        struct bench_verdict v = {.word = BENCH_SAME, .p = 1, .rounds = {a->n, b->n}};

        if (stats_least_p(a->n, b->n) > VERDICT_LEVEL) {
                v.word = BENCH_ROUNDS;
                return v;
        }
        v.p = stats_rank_p(a, b);
        v.has_ratio = stats_ratio(a, b, VERDICT_LEVEL, &v.ratio);
        if (!v.has_ratio || v.p > VERDICT_LEVEL)
                return v;
        practical = fmax(practical, stats_wander(a, b)); /* all values are above 0, since there is a ratio */
        if (v.ratio.low > practical)
                v.word = BENCH_FASTER;
        else if (v.ratio.high < 1 / practical)
                v.word = BENCH_SLOWER;
        return v;
}

struct bench_verdict verdict_between(const struct bench *a, unsigned pattern_a, enum driver driver_a, const struct bench *b,
                                     unsigned pattern_b, enum driver driver_b)
{
        enum stats_measure m = stats_figure(&a->patterns[pattern_a]);
        const struct samples first = stats_samples(a, pattern_a, driver_a, m);
        const struct samples second = stats_samples(b, pattern_b, driver_b, m);
        double halves = fmax(stats_halves(a, pattern_a, driver_a), stats_halves(b, pattern_b, driver_b));

        return verdict_of(&first, &second, fmax(VERDICT_PRACTICAL, halves));
}

struct bench_verdict verdict_of_pattern(const struct bench *b, unsigned pattern)
{
        struct bench_verdict v = {.word = BENCH_SINGLE, .p = 1};

        if (!b->single)
                v = verdict_between(b, pattern, DRIVER_USB_STORAGE, b, pattern, DRIVER_UAS);
        if (v.word != BENCH_ROUNDS)
                return v;
        if (b->finding.found)
                v.word = BENCH_FAILED;
        else if (!b->interrupted && stats_drivers(b, pattern, (enum driver[_DRIVER_MAX]){}) < 2)
                v.word = BENCH_SINGLE;
        return v;
}

char *pattern_text(const struct bench *b, unsigned pattern, char ret[static PATTERN_TEXT_MAX])
{
        const struct bench_pattern *p = &b->patterns[pattern];

        ret[0] = '\0';
        text_add(ret, PATTERN_TEXT_MAX, "%s%s %s", p->direct ? "" : "buffered ", p->random ? "random" : "sequential",
                 p->read_percent >= 100 ? "read"
                 : p->read_percent == 0 ? "write"
                                        : "read and write");
        if (p->read_percent > 0 && p->read_percent < 100 && p->read_percent != 50)
                text_add(ret, PATTERN_TEXT_MAX, " (%u %% reads)", p->read_percent);
        text_join(ret, PATTERN_TEXT_MAX, "%s", BYTES_TEXT(p->block_size));
        if (!p->sync_engine)
                text_join(ret, PATTERN_TEXT_MAX, "depth %u", p->iodepth);
        if (p->numjobs > 1)
                text_join(ret, PATTERN_TEXT_MAX, "%u jobs", p->numjobs);
        else if (p->sync_engine)
                text_join(ret, PATTERN_TEXT_MAX, "one at a time");
        if (b->axis == BENCH_AXIS_REGION)
                text_join(ret, PATTERN_TEXT_MAX, "region %s", BYTES_TEXT((uint64_t) p->axis));
        else if (b->axis == BENCH_AXIS_CLIENTS)
                text_join(ret, PATTERN_TEXT_MAX, "%.0f machine%s", p->axis, p->axis > 1 ? "s" : "");
        else if (b->axis == BENCH_AXIS_RUNTIME)
                text_join(ret, PATTERN_TEXT_MAX, "%u s", p->runtime_sec);
        else if (b->axis == BENCH_AXIS_RAMP)
                text_join(ret, PATTERN_TEXT_MAX, "after %u s", p->ramp_sec);
        return ret;
}

char *verdict_text(const struct bench_verdict *v, const char *on, char ret[static VERDICT_TEXT_MAX])
{
        static const char *const cells[_BENCH_WORD_MAX] = {
                [BENCH_SAME] = "no difference",    [BENCH_FASTER] = "faster", [BENCH_SLOWER] = "slower",
                [BENCH_ROUNDS] = "too few rounds", [BENCH_FAILED] = "failed", [BENCH_SINGLE] = "",
        };
        double middle = v->ratio.middle, times = v->word == BENCH_SLOWER ? 1 / middle : middle;

        if (differs(v) && times >= TIMES_FROM)
                (void) snprintf(ret, VERDICT_TEXT_MAX, "%.*f%s %s%s", times < 10 ? 1 : 0, times, on ? " times" : "x",
                                cells[v->word], on ?: "");
        else if (differs(v))
                (void) snprintf(ret, VERDICT_TEXT_MAX, "%.0f%s %s%s", 100 * fabs(middle - 1), on ? " %" : "%", cells[v->word],
                                on ?: "");
        else if (on && v->word == BENCH_ROUNDS)
                (void) snprintf(
                        ret, VERDICT_TEXT_MAX,
                        "too few rounds for a verdict (%zu and %zu; it needs %u of each, and the first one does not count)",
                        v->rounds[0], v->rounds[1], VERDICT_ROUNDS);
        else if (on && v->word == BENCH_FAILED)
                (void) copy_string(ret, VERDICT_TEXT_MAX, "ended before its time");
        else
                (void) snprintf(ret, VERDICT_TEXT_MAX, "%s%s", cells[v->word], on && v->word == BENCH_SAME ? " seen" : "");
        return ret;
}

/* ---- the whole result in one sentence ---- */

struct difference {
        unsigned pattern;
        double weight; /* the ratio, 1 or more */
};

static int largest_first(const void *a, const void *b)
{
        const struct difference *x = a, *y = b;

        return x->weight > y->weight ? -1 : x->weight < y->weight ? 1 : (int) x->pattern - (int) y->pattern;
}

static void add_differences(const struct bench *b, const struct bench_verdict *v, char *ret, size_t size)
{
        _cleanup_free_ struct difference *all = need(calloc(b->n_patterns, sizeof(*all)));
        size_t n = 0;

        for (unsigned i = 0; i < b->n_patterns; i++)
                if (differs(&v[i]))
                        all[n++] = (struct difference){i, fmax(v[i].ratio.middle, 1 / v[i].ratio.middle)};
        qsort(all, n, sizeof(*all), largest_first);
        for (size_t i = 0; i < n && i < DIFFERENCES_TOLD; i++)
                text_add(ret, size, "%s%s: %s", i > 0 ? "; " : "", PATTERN_TEXT(b, all[i].pattern),
                         VERDICT_TEXT(&v[all[i].pattern], " on UAS"));
        if (n > DIFFERENCES_TOLD)
                text_add(ret, size, "; %zu more with a difference", n - DIFFERENCES_TOLD);
}

/* "2 sequential and 1 random pattern: no difference seen"; without numbers if all patterns are like that. */
static void add_alike(const struct bench *b, const struct bench_verdict *v, enum bench_word w, char *ret, size_t size)
{
        const struct bench_verdict *first = NULL;
        size_t n[2] = {0, 0}; /* sequential, random */

        for (size_t i = 0; i < b->n_patterns; i++)
                if (v[i].word == w) {
                        first = first ?: &v[i];
                        n[b->patterns[i].random]++;
                }
        if (!first)
                return;
        if (n[0] + n[1] < b->n_patterns) {
                text_add(ret, size, "%s", *ret ? "; " : "");
                if (n[0] > 0)
                        text_add(ret, size, "%zu sequential%s", n[0], n[1] > 0 ? " and " : "");
                if (n[1] > 0)
                        text_add(ret, size, "%zu random", n[1]);
                text_add(ret, size, " pattern%s: ", (n[1] ?: n[0]) == 1 ? "" : "s");
        }
        text_add(ret, size, "%s", VERDICT_TEXT(first, " on UAS"));
}

/* Doubts of the rows behind the summary: rows with a difference, or, without any, rows with none. */
static void add_doubts(const struct bench *b, const struct bench_verdict *v, char *ret, size_t size)
{
        unsigned all[2] = {0, 0}, found;
        size_t told = 0, left = 0;
        struct doubts texts;
        bool any = false;

        for (unsigned i = 0; i < b->n_patterns; i++) {
                any = any || differs(&v[i]);
                for (enum driver d = 0; d < _DRIVER_MAX && (differs(&v[i]) || v[i].word == BENCH_SAME); d++)
                        all[differs(&v[i])] |= doubts_of(b, i, d, &texts);
        }
        found = all[any] & doubts_of_comparison(any);
        for (enum bench_doubt d = 0; d < _BENCH_DOUBT_MAX; d++) {
                if (!(found & (1U << d)))
                        continue;
                if (told == DOUBTS_TOLD)
                        left++;
                else
                        text_add(ret, size, "%s%s", told++ > 0 ? ", " : "; with doubts: ", bench_doubts[d]);
        }
        if (left > 0)
                text_add(ret, size, " and %zu more", left);
}

char *verdict_overall(const struct bench *b, char *ret, size_t size)
{
        static const enum bench_word alike[] = {BENCH_SAME, BENCH_ROUNDS, BENCH_FAILED};
        _cleanup_free_ struct bench_verdict *v = need(calloc(b->n_patterns + 1, sizeof(*v)));

        ret[0] = '\0';
        for (size_t i = 0; i < b->n_patterns; i++)
                v[i] = verdict_of_pattern(b, (unsigned) i);
        if (b->n_patterns == 0)
                return ret;
        add_differences(b, v, ret, size);
        for (size_t k = 0; k < ELEMENTSOF(alike); k++)
                add_alike(b, v, alike[k], ret, size);
        add_doubts(b, v, ret, size);
        return ret;
}

char *finding_text(const struct bench *b, char *ret, size_t size)
{
        const struct bench_finding *f = &b->finding;
        const struct bench_run *run = f->run < b->n_runs ? &b->runs[f->run] : NULL;

        ret[0] = '\0';
        if (!f->found)
                return ret;
        text_add(ret, size, "%s failed", driver_to_string(f->driver));
        if (run && run->pattern < b->n_patterns)
                text_add(ret, size, " during %s", PATTERN_TEXT(b, run->pattern));
        text_add(ret, size, "%s%s.", *f->what ? ": " : "", f->what);
        if (f->driver == DRIVER_UAS)
                text_add(ret, size,
                         " This disk is not safe on uas here: leave it on " DRIVER_NAME_BOT
                         " (uasctl policy DISK " DRIVER_NAME_BOT "), whatever the figures say.");
        else
                text_add(ret, size, " UAS is not the cause: check cable, power and the disk itself.");
        return ret;
}
