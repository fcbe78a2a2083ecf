/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/tell/pairs.h"

#include "bench/tell/units.h"
#include "common/util.h"
#include "term/program.h"

#define REGION_TIMES 1.1 /* what rounding to blocks and jobs makes of one is no other region */

static bool same_question(const struct bench_pattern *a, const struct bench_pattern *b)
{
        return a->block_size == b->block_size && a->iodepth == b->iodepth && a->numjobs == b->numjobs &&
               a->read_percent == b->read_percent && a->random == b->random && a->direct == b->direct &&
               a->sync_engine == b->sync_engine && streq(a->rw, b->rw) && streq(a->name, b->name);
}

/* The only driver it was run under; _DRIVER_MAX: more than one, or none. */
static enum driver only_driver(const struct bench *b, unsigned pattern)
{
        enum driver all[_DRIVER_MAX];

        return drivers_of(b, pattern, all) == 1 ? all[0] : _DRIVER_MAX;
}

static void add_pair(const struct bench *a, const struct bench *b, struct pair p, struct pair *list, size_t *n)
{
        enum stats_measure m = stats_figure(&a->patterns[p.a]);
        double practical = VERDICT_PRACTICAL;
        const double halves[] = {stats_halves(a, p.a, p.driver_a), stats_halves(b, p.b, p.driver_b)};

        stats_samples(a, p.a, p.driver_a, m, &p.samples_a);
        stats_samples(b, p.b, p.driver_b, m, &p.samples_b);
        if (p.samples_a.n == 0 || p.samples_b.n == 0)
                return;
        /* What either of them shows between its own halves is no difference between the two. */
        for (size_t i = 0; i < ELEMENTSOF(halves); i++)
                practical = halves[i] > practical ? halves[i] : practical;
        verdict_of(&p.samples_a, &p.samples_b, practical, &p.verdict);
        list[(*n)++] = p;
}

/* Each driver with itself; two results that have one driver each, whichever, are compared as well. */
static void add_pairs(const struct bench *a, const struct bench *b, unsigned i, unsigned k, struct pair *list, size_t *n)
{
        enum driver one = only_driver(a, i), other = only_driver(b, k);

        if (one != _DRIVER_MAX && other != _DRIVER_MAX) {
                add_pair(a, b, (struct pair){.a = i, .b = k, .driver_a = one, .driver_b = other}, list, n);
                return;
        }
        for (enum driver d = 0; d < _DRIVER_MAX; d++)
                add_pair(a, b, (struct pair){.a = i, .b = k, .driver_a = d, .driver_b = d}, list, n);
}

size_t pairs_find(const struct bench *a, const struct bench *b, struct pair **ret)
{
        struct pair *list = need(calloc(a->n_patterns * _DRIVER_MAX + 1, sizeof(*list)));
        size_t n = 0;

        for (unsigned i = 0; i < a->n_patterns; i++)
                for (unsigned k = 0; k < b->n_patterns; k++)
                        if (same_question(&a->patterns[i], &b->patterns[k])) {
                                add_pairs(a, b, i, k, list, &n);
                                break;
                        }
        *ret = list;
        return n;
}

/* What all jobs together worked on, of the runs that count. */
static uint64_t region_of(const struct bench *b, unsigned pattern, enum driver d)
{
        for (size_t i = 0; i < b->n_runs; i++)
                if (b->runs[i].pattern == pattern && b->runs[i].driver == d && stats_run_counts(&b->runs[i]))
                        return b->runs[i].region;
        return 0;
}

static bool regions_differ(uint64_t a, uint64_t b)
{
        return a > 0 && b > 0 && ((double) a > REGION_TIMES * (double) b || (double) b > REGION_TIMES * (double) a);
}

static void duration_text(const struct bench_pattern *p, char *ret, size_t size)
{
        if (p->runtime_sec == 0)
                (void) copy_string(ret, size, "until all of it was done");
        else
                (void) snprintf(ret, size, "%s%u s after %u s", p->time_based ? "" : "at most ", p->runtime_sec, p->ramp_sec);
}

size_t pair_differs(const struct bench *a, const struct bench *b, const struct pair *p,
                    char ret[static PAIR_DIFFERS_MAX][DOUBT_TEXT_MAX])
{
        const struct bench_pattern *first = &a->patterns[p->a], *second = &b->patterns[p->b];
        uint64_t one = region_of(a, p->a, p->driver_a), other = region_of(b, p->b, p->driver_b);
        char before[64], then[64];
        size_t n = 0;

        if (regions_differ(one, other))
                (void) snprintf(ret[n++], DOUBT_TEXT_MAX, "not the same question: a region of %s, then one of %s",
                                bytes_text(one, before), bytes_text(other, then));
        if (*first->engine && *second->engine && !streq(first->engine, second->engine))
                (void) snprintf(ret[n++], DOUBT_TEXT_MAX, "not the same question: the engine %s, then %s", first->engine,
                                second->engine);
        duration_text(first, before, sizeof(before));
        duration_text(second, then, sizeof(then));
        if (!streq(before, then))
                (void) snprintf(ret[n++], DOUBT_TEXT_MAX, "not the same question: %s, then %s", before, then);
        if (!*a->conditions.path != !*b->conditions.path)
                (void) snprintf(ret[n++], DOUBT_TEXT_MAX, "not the same question: %s, then %s",
                                *a->conditions.path ? "through a file system" : "the raw disk",
                                *b->conditions.path ? "through a file system" : "the raw disk");
        return n;
}
