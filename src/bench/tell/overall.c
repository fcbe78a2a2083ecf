/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The summary of a whole result in one sentence. */
#include "bench/tell/verdict.h"

#include <math.h>

#include "bench/tell/doubts.h"
#include "bench/tell/units.h"
#include "common/names.h"
#include "common/util.h"
#include "term/program.h"

#define DIFFERENCES_TOLD 4 /* the largest; the table has all */
#define DOUBTS_TOLD 3      /* the notes of the table have all */

/* Ratio of the difference, 1 or more. */
static double weight(const struct bench_verdict *v)
{
        return v->ratio.middle < 1 ? 1 / v->ratio.middle : v->ratio.middle;
}

static bool differs(const struct bench_verdict *v)
{
        return v->word == BENCH_FASTER || v->word == BENCH_SLOWER;
}

static void add_differences(const struct bench *b, const struct bench_verdict *v, char *ret, size_t size)
{
        double last = HUGE_VAL;
        size_t last_at = 0, told = 0, n = 0;
        char pattern[PATTERN_TEXT_MAX], text[VERDICT_TEXT_MAX];

        for (size_t i = 0; i < b->n_patterns; i++)
                n += differs(&v[i]);
        for (; told < n && told < DIFFERENCES_TOLD; told++) {
                size_t best = b->n_patterns;

                for (size_t i = 0; i < b->n_patterns; i++)
                        if (differs(&v[i]) && (weight(&v[i]) < last || (weight(&v[i]) <= last && i > last_at)) &&
                            (best == b->n_patterns || weight(&v[i]) > weight(&v[best])))
                                best = i;
                if (best == b->n_patterns)
                        break;
                last = weight(&v[best]);
                last_at = best;
                text_add(ret, size, "%s%s: %s", told > 0 ? "; " : "", pattern_text(b, (unsigned) best, pattern),
                         verdict_text(&v[best], " on UAS", text));
        }
        if (n > told)
                text_add(ret, size, "; %zu more with a difference", n - told);
}

/* "2 sequential and 1 random pattern: no difference seen"; without numbers if all patterns are like that. */
static void add_alike(const struct bench *b, const struct bench_verdict *v, enum bench_word w, char *ret, size_t size)
{
        const struct bench_verdict *first = NULL;
        size_t n[2] = {0, 0}; /* sequential, random */
        char text[VERDICT_TEXT_MAX];

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
        text_add(ret, size, "%s", verdict_text(first, " on UAS", text));
}

/* Doubts of the rows behind the summary: rows with a difference, or, without any, rows with none. */
static unsigned doubts_behind(const struct bench *b)
{
        unsigned found[2] = {0, 0};
        bool any = false;

        for (unsigned i = 0; i < b->n_patterns; i++) {
                struct bench_verdict v;

                verdict_of_pattern(b, i, &v);
                any = any || differs(&v);
                for (enum driver d = 0; d < _DRIVER_MAX && (differs(&v) || v.word == BENCH_SAME); d++)
                        found[differs(&v)] |= doubts_of(b, i, d);
        }
        return found[any] & doubts_of_comparison(any);
}

static void add_doubts(const struct bench *b, char *ret, size_t size)
{
        unsigned found = doubts_behind(b);
        size_t told = 0, left = 0;

        for (enum bench_doubt d = 0; d < _BENCH_DOUBT_MAX; d++) {
                if (!(found & (1U << d)))
                        continue;
                if (told == DOUBTS_TOLD)
                        left++;
                else
                        text_add(ret, size, "%s%s", told++ > 0 ? ", " : "; with doubts: ", bench_doubt_to_string(d));
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
                verdict_of_pattern(b, (unsigned) i, &v[i]);
        if (b->n_patterns == 0)
                return ret;
        add_differences(b, v, ret, size);
        for (size_t k = 0; k < ELEMENTSOF(alike); k++)
                add_alike(b, v, alike[k], ret, size);
        add_doubts(b, ret, size);
        return ret;
}

char *finding_text(const struct bench *b, char *ret, size_t size)
{
        const struct bench_finding *f = &b->finding;
        const struct bench_run *run = f->run < b->n_runs ? &b->runs[f->run] : NULL;
        char pattern[PATTERN_TEXT_MAX];

        ret[0] = '\0';
        if (!f->found)
                return ret;
        text_add(ret, size, "%s failed", driver_to_string(f->driver));
        if (run && run->pattern < b->n_patterns)
                text_add(ret, size, " during %s", pattern_text(b, run->pattern, pattern));
        text_add(ret, size, "%s%s.", *f->what ? ": " : "", f->what);
        if (f->driver == DRIVER_UAS)
                text_add(ret, size,
                         " This disk is not safe on uas here: leave it on " DRIVER_NAME_BOT
                         " (uasctl policy DISK " DRIVER_NAME_BOT "), whatever the figures say.");
        else
                text_add(ret, size, " UAS is not the cause: check cable, power and the disk itself.");
        return ret;
}
