/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Compares two results with the same statistics as two drivers. */
#include "bench/tell/tell.h"

#include "common/log.h"
#include "common/util.h"
#include "term/json.h"
#include "term/layout.h"
#include "term/terminal.h"

#define REGION_TIMES 1.1 /* rounding to blocks and jobs makes smaller differences */
#define PAIR_DIFFERS_MAX 4
#define DURATION_MAX 64

/* Two figures with the same question. */
struct pair {
        unsigned a, b; /* patterns */
        enum driver driver_a, driver_b;
        struct bench_verdict verdict;
};

static bool same_question(const struct bench_pattern *a, const struct bench_pattern *b)
{
        return a->block_size == b->block_size && a->iodepth == b->iodepth && a->numjobs == b->numjobs &&
               a->read_percent == b->read_percent && a->random == b->random && a->direct == b->direct &&
               a->sync_engine == b->sync_engine && streq(a->rw, b->rw) && streq(a->name, b->name);
}

/* Each driver is compared with itself. Two results with one driver each are also compared. */
static void add_pairs(const struct bench *a, const struct bench *b, unsigned i, unsigned k, struct pair *list, size_t *n)
{
        enum driver first[_DRIVER_MAX], second[_DRIVER_MAX];
        bool single = stats_drivers(a, i, first) == 1 && stats_drivers(b, k, second) == 1;

        for (enum driver d = 0; d < (single ? 1 : _DRIVER_MAX); d++) {
                struct pair *p = &list[*n];

                *p = (struct pair){.a = i, .b = k, .driver_a = single ? first[0] : d, .driver_b = single ? second[0] : d};
                p->verdict = verdict_between(a, i, p->driver_a, b, k, p->driver_b);
                if (p->verdict.rounds[0] > 0 && p->verdict.rounds[1] > 0)
                        ++*n;
        }
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

/* Bytes that all jobs together worked on. */
static uint64_t region_of(const struct bench *b, unsigned pattern, enum driver d)
{
        const struct rounds rounds = stats_rounds(b, pattern, d);

        return rounds.n > 0 ? rounds.runs[0]->region : 0;
}

static void duration_text(const struct bench_pattern *p, char ret[static DURATION_MAX])
{
        if (p->runtime_sec == 0)
                (void) copy_string(ret, DURATION_MAX, "until all of it was done");
        else
                (void) snprintf(ret, DURATION_MAX, "%s%u s after %u s", p->time_based ? "" : "at most ", p->runtime_sec,
                                p->ramp_sec);
}

static size_t add_differs(char ret[static DOUBT_TEXT_MAX], const char *kind, const char *first, const char *second)
{
        if (streq(first, second))
                return 0;
        (void) snprintf(ret, DOUBT_TEXT_MAX, "not the same question: %s%s, then %s", kind, first, second);
        return 1;
}

/* Differences in the questions, a sentence each: region, engine, duration, file system. Returns their number. */
static size_t pair_differs(const struct bench *a, const struct bench *b, const struct pair *p,
                           char ret[static PAIR_DIFFERS_MAX][DOUBT_TEXT_MAX])
{
        static const char *const places[] = {"the raw disk", "through a file system"};
        const struct bench_pattern *first = &a->patterns[p->a], *second = &b->patterns[p->b];
        uint64_t one = region_of(a, p->a, p->driver_a), other = region_of(b, p->b, p->driver_b);
        char before[DURATION_MAX], then[DURATION_MAX];
        size_t n = 0;

        if (one > 0 && other > 0 &&
            ((double) one > REGION_TIMES * (double) other || (double) other > REGION_TIMES * (double) one))
                (void) snprintf(ret[n++], DOUBT_TEXT_MAX, "not the same question: a region of %s, then one of %s",
                                BYTES_TEXT(one), BYTES_TEXT(other));
        if (*first->engine && *second->engine)
                n += add_differs(ret[n], "the engine ", first->engine, second->engine);
        duration_text(first, before);
        duration_text(second, then);
        n += add_differs(ret[n], "", before, then);
        return n + add_differs(ret[n], "", places[!!*a->conditions.path], places[!!*b->conditions.path]);
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

static void add_row(struct libscols_table *t, const struct bench *a, const struct bench *b, const struct pair *p,
                    struct notes *notes)
{
        const struct ratio *r = &p->verdict.ratio;
        enum stats_measure m = stats_figure(&a->patterns[p->a]);
        char differs[PAIR_DIFFERS_MAX][DOUBT_TEXT_MAX], ratio[48] = "-", drivers[48], numbers[NOTES_TEXT_MAX] = "";
        size_t n = pair_differs(a, b, p, differs);

        /* Reasons against the comparison, then the doubts of both figures. */
        for (size_t i = 0; i < n; i++)
                notes_add(notes, differs[i], numbers);
        notes_of(notes, a, p->a, p->driver_a, "first: ", numbers);
        notes_of(notes, b, p->b, p->driver_b, "second: ", numbers);
        if (p->verdict.has_ratio)
                (void) snprintf(ratio, sizeof(ratio), "%.2f (%.2f-%.2f)", r->middle, r->low, r->high);
        (void) snprintf(drivers, sizeof(drivers), p->driver_a == p->driver_b ? "%s" : "%s, %s", driver_label(p->driver_a),
                        driver_label(p->driver_b));
        const char *const cells[_AT_MAX] = {
                [AT_PATTERN] = PATTERN_TEXT(a, p->a),
                [AT_DRIVER] = drivers,
                [AT_FIRST] = FIGURE_TEXT(stats_of(a, p->a, p->driver_a, m).median, m, style_utf8()),
                [AT_SECOND] = FIGURE_TEXT(stats_of(b, p->b, p->driver_b, m).median, m, style_utf8()),
                [AT_RATIO] = ratio,
                [AT_NOTES] = numbers,
                [AT_SECOND_IS] = VERDICT_TEXT(&p->verdict, NULL),
        };
        (void) table_row(t, NULL, cells);
}

/* Other changes that may have caused the difference. */
static void print_conditions(const struct bench *a, const struct bench *b)
{
        struct head_line first[HEAD_MAX], second[HEAD_MAX];
        size_t n = bench_head(a, true, first), m = bench_head(b, true, second);

        for (size_t i = 0; i < n; i++)
                for (size_t k = 0; k < m; k++) {
                        if (!streq(first[i].key, second[k].key))
                                continue;
                        bench_print_line(stdout, first[i].key, false, first[i].value);
                        if (!streq(first[i].value, second[k].value))
                                bench_print_line(stdout, "then", true, second[k].value);
                }
        putchar('\n');
}

static void print_text(const struct bench_context *c, const struct bench *a, const struct bench *b, const struct pair *list,
                       size_t n)
{
        struct notes notes = {};
        struct libscols_table *t;

        pager_open(!c->options->no_pager);
        print_conditions(a, b);
        t = table_new(columns, _AT_MAX, !c->options->no_legend);
        for (size_t i = 0; i < n; i++)
                add_row(t, a, b, &list[i], &notes);
        table_print(t, columns, _AT_MAX);
        bench_print_notes(stdout, &notes);
}

static json_object *json_pair(const struct bench *a, const struct bench *b, const struct pair *p)
{
        char differs[PAIR_DIFFERS_MAX][DOUBT_TEXT_MAX];
        json_object *list = json_list();
        size_t n = pair_differs(a, b, p, differs);

        for (size_t i = 0; i < n; i++)
                append(list, new_string(differs[i]));
        return json_make({"text", new_string(PATTERN_TEXT(a, p->a))}, {"driver_a", new_string(driver_to_string(p->driver_a))},
                         {"driver_b", new_string(driver_to_string(p->driver_b))},
                         {"comparison", bench_json_verdict(&p->verdict, "")}, {"differs", list},
                         {"doubts_a", bench_json_doubts(json_list(), a, p->a, p->driver_a)},
                         {"doubts_b", bench_json_doubts(json_list(), b, p->b, p->driver_b)});
}

json_object *bench_json_diff(const struct bench *a, const struct bench *b)
{
        json_object *list = json_list();
        _cleanup_free_ struct pair *pairs = NULL;
        size_t n = pairs_find(a, b, &pairs);

        for (size_t i = 0; i < n; i++)
                append(list, json_pair(a, b, &pairs[i]));
        return json_make({"comparisons", list}, {"version", new_int(BENCH_JSON_VERSION)}, {"a", new_string(a->id)},
                         {"b", new_string(b->id)});
}

int bench_diff(const struct bench_context *c, char *const *words)
{
        _cleanup_(bench_done) struct bench first = {}, second = {};
        _cleanup_free_ struct pair *list = NULL;
        int code = bench_load(c, words[0], &first);
        size_t n;

        if (code == UASD_EXIT_OK)
                code = bench_load(c, words[1], &second);
        if (code != UASD_EXIT_OK)
                return code;
        n = pairs_find(&first, &second, &list);
        if (c->options->json)
                json_print(bench_json_diff(&first, &second));
        else if (n > 0)
                print_text(c, &first, &second, list, n);
        if (n == 0)
                return log_failure(UASD_EXIT_FAILED, "The two results have no pattern in common.");
        return UASD_EXIT_OK;
}
