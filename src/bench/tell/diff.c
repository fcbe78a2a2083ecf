/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Compares two results with the same statistics as two drivers. */
#include "bench/tell/kept.h"

#include "bench/tell/json.h"
#include "bench/tell/print.h"
#include "bench/tell/units.h"
#include "bench/tell/verdict.h"
#include "common/log.h"
#include "common/util.h"
#include "term/json.h"
#include "term/pager.h"
#include "term/program.h"
#include "term/style.h"
#include "term/table.h"

#define REGION_TIMES 1.1 /* rounding to blocks and jobs makes smaller differences */
#define PAIR_DIFFERS_MAX 4

/* Two figures with the same question. */
struct pair {
        unsigned a, b; /* patterns */
        enum driver driver_a, driver_b;
        struct samples samples_a, samples_b;
        struct bench_verdict verdict;
};

static bool same_question(const struct bench_pattern *a, const struct bench_pattern *b)
{
        return a->block_size == b->block_size && a->iodepth == b->iodepth && a->numjobs == b->numjobs &&
               a->read_percent == b->read_percent && a->random == b->random && a->direct == b->direct &&
               a->sync_engine == b->sync_engine && streq(a->rw, b->rw) && streq(a->name, b->name);
}

/* The driver of all its runs; _DRIVER_MAX: several, or none. */
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
        /* A difference as small as that between the halves of one result does not count. */
        for (size_t i = 0; i < ELEMENTSOF(halves); i++)
                practical = halves[i] > practical ? halves[i] : practical;
        verdict_of(&p.samples_a, &p.samples_b, practical, &p.verdict);
        list[(*n)++] = p;
}

/* Each driver is compared with itself. Two results with one driver each are also compared. */
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

/* In the order of the patterns of a, in a list to be freed. Returns their number. */
static size_t pairs_find(const struct bench *a, const struct bench *b, struct pair **ret)
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

/* Bytes that all jobs together worked on, from the runs that count. */
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

/* Differences in the questions, a sentence each: region, engine, duration. Returns their number. */
static size_t pair_differs(const struct bench *a, const struct bench *b, const struct pair *p,
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

enum { AT_PATTERN, AT_DRIVER, AT_FIRST, AT_SECOND, AT_RATIO, AT_NOTES, AT_SECOND_IS, _AT_MAX };

static const struct table_column columns[_AT_MAX] = {
        /* clang-format off */
        [AT_PATTERN] = {"PATTERN", .folds = FIT_NAMES},
        [AT_DRIVER] = {"DRIVER", .folds = FIT_LAST},
        [AT_FIRST] = {"FIRST", SCOLS_FL_RIGHT, .folds = FIT_LAST},
        [AT_SECOND] = {"SECOND", SCOLS_FL_RIGHT, .folds = FIT_LAST},
        [AT_RATIO] = {"RATIO", SCOLS_FL_RIGHT, .folds = FIT_BLANKS, .goes = 1},
        [AT_NOTES] = {"NOTES", .folds = FIT_BLANKS},
        [AT_SECOND_IS] = {"SECOND IS", .folds = FIT_LAST},
        /* clang-format on */
};

/* State of printing. The notes appear under the table. */
struct diff_printer {
        const struct bench *a, *b;
        struct notes notes;
};

/* Reasons against the comparison, then the doubts of both figures. */
static void notes_text(struct diff_printer *to, const struct pair *p, char ret[static NOTES_TEXT_MAX])
{
        unsigned first = doubts_of(to->a, p->a, p->driver_a), second = doubts_of(to->b, p->b, p->driver_b);
        char differs[PAIR_DIFFERS_MAX][DOUBT_TEXT_MAX], said[DOUBT_TEXT_MAX], text[DOUBT_TEXT_MAX];
        size_t n = pair_differs(to->a, to->b, p, differs);

        ret[0] = '\0';
        for (size_t i = 0; i < n; i++)
                notes_add(&to->notes, differs[i], ret);
        for (enum bench_doubt d = 0; d < _BENCH_DOUBT_MAX; d++) {
                if (first & (1U << d)) {
                        (void) doubt_text(to->a, p->a, p->driver_a, d, said);
                        (void) snprintf(text, sizeof(text), "first: %.*s", DOUBT_TEXT_MAX - 8, said);
                        notes_add(&to->notes, text, ret);
                }
                if (second & (1U << d)) {
                        (void) doubt_text(to->b, p->b, p->driver_b, d, said);
                        (void) snprintf(text, sizeof(text), "second: %.*s", DOUBT_TEXT_MAX - 9, said);
                        notes_add(&to->notes, text, ret);
                }
        }
}

static void add_row(struct libscols_table *t, struct diff_printer *to, const struct pair *p)
{
        const struct bench *a = to->a;
        enum stats_measure m = stats_figure(&a->patterns[p->a]);
        char first[UNIT_TEXT_MAX], second[UNIT_TEXT_MAX], ratio[48] = "-", said[VERDICT_TEXT_MAX], drivers[48];
        char text[PATTERN_TEXT_MAX], notes[NOTES_TEXT_MAX];

        (void) figure_text(stats_median(&p->samples_a), m, style_utf8(), first);
        (void) figure_text(stats_median(&p->samples_b), m, style_utf8(), second);
        if (p->verdict.has_ratio)
                (void) snprintf(ratio, sizeof(ratio), "%.2f (%.2f-%.2f)", p->verdict.ratio.middle, p->verdict.ratio.low,
                                p->verdict.ratio.high);
        if (p->driver_a == p->driver_b)
                (void) copy_string(drivers, sizeof(drivers), driver_label(p->driver_a));
        else
                (void) snprintf(drivers, sizeof(drivers), "%s, %s", driver_label(p->driver_a), driver_label(p->driver_b));
        notes_text(to, p, notes);
        const char *const cells[_AT_MAX] = {
                [AT_PATTERN] = pattern_text(a, p->a, text),
                [AT_DRIVER] = drivers,
                [AT_FIRST] = first,
                [AT_SECOND] = second,
                [AT_RATIO] = ratio,
                [AT_NOTES] = notes,
                [AT_SECOND_IS] = verdict_text(&p->verdict, NULL, said),
        };
        (void) table_row(t, NULL, cells);
}

/* Other changes that may have caused the difference. */
static int print_conditions(const struct bench *a, const struct bench *b)
{
        struct head_line first[HEAD_MAX], second[HEAD_MAX];
        size_t n = bench_head(a, true, first), m = bench_head(b, true, second);
        int r = 0;

        for (size_t i = 0; i < n; i++)
                for (size_t k = 0; k < m && r >= 0; k++) {
                        if (!streq(first[i].key, second[k].key))
                                continue;
                        r = bench_print_line(stdout, first[i].key, false, first[i].value);
                        if (r >= 0 && !streq(first[i].value, second[k].value))
                                r = bench_print_line(stdout, "then", true, second[k].value);
                }
        putchar('\n');
        return r;
}

static int print_text(const struct bench_context *c, const struct bench *a, const struct bench *b, const struct pair *list,
                      size_t n)
{
        struct diff_printer to = {.a = a, .b = b};
        struct libscols_table *t;
        int r;

        pager_open(!c->options->no_pager);
        r = print_conditions(a, b);
        if (r < 0)
                return r;
        t = table_new(columns, _AT_MAX, !c->options->no_legend);
        for (size_t i = 0; i < n; i++)
                add_row(t, &to, &list[i]);
        r = table_print(t, columns, _AT_MAX);
        return r < 0 ? r : bench_print_notes(stdout, &to.notes);
}

static json_object *json_differs(const struct bench *a, const struct bench *b, const struct pair *p)
{
        char differs[PAIR_DIFFERS_MAX][DOUBT_TEXT_MAX];
        size_t n = pair_differs(a, b, p, differs);
        json_object *list = json_list();

        for (size_t i = 0; i < n; i++)
                append_string(list, differs[i]);
        return list;
}

static json_object *json_pair(const struct bench *a, const struct bench *b, const struct pair *p)
{
        json_object *o = json_new();
        char text[PATTERN_TEXT_MAX];

        put_string(o, "text", pattern_text(a, p->a, text));
        put_string(o, "driver_a", driver_to_string(p->driver_a));
        put_string(o, "driver_b", driver_to_string(p->driver_b));
        put(o, "comparison", bench_json_verdict(&p->verdict, ""));
        put(o, "differs", json_differs(a, b, p));
        put(o, "doubts_a", bench_json_doubts(a, p->a, p->driver_a));
        put(o, "doubts_b", bench_json_doubts(b, p->b, p->driver_b));
        return o;
}

json_object *bench_json_diff(const struct bench *a, const struct bench *b)
{
        json_object *o = json_new(), *list = json_list();
        _cleanup_free_ struct pair *pairs = NULL;
        size_t n = pairs_find(a, b, &pairs);

        for (size_t i = 0; i < n; i++)
                append(list, json_pair(a, b, &pairs[i]));
        put(o, "comparisons", list);
        put_int(o, "version", BENCH_JSON_VERSION);
        put_string(o, "a", a->id);
        put_string(o, "b", b->id);
        return o;
}

int bench_diff(const struct bench_context *c, const char *a, const char *b)
{
        _cleanup_(bench_done) struct bench first = {}, second = {};
        _cleanup_free_ struct pair *list = NULL;
        int r = 0, code = bench_load(c, a, &first);
        size_t n;

        if (code == UASD_EXIT_OK)
                code = bench_load(c, b, &second);
        if (code != UASD_EXIT_OK)
                return code;
        n = pairs_find(&first, &second, &list);
        if (c->options->json)
                json_print(bench_json_diff(&first, &second));
        else if (n > 0)
                r = print_text(c, &first, &second, list, n);
        if (n == 0)
                log_error("The two results have no pattern in common.");
        return r < 0 || n == 0 ? UASD_EXIT_FAILED : UASD_EXIT_OK;
}
