/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Two results, with the same statistics as two drivers. */
#include "ctl/bench/history.h"

#include "common/log.h"
#include "common/util.h"
#include "ctl/bench/head.h"
#include "ctl/bench/json.h"
#include "ctl/bench/kept.h"
#include "ctl/bench/units.h"
#include "ctl/bench/verdict.h"
#include "ctl/json-parts.h"
#include "ctl/json.h"
#include "ctl/pager.h"
#include "ctl/style.h"
#include "ctl/table.h"

#define HARMLESS(s) make_harmless(s, (char[4096]){}, 4096)

enum { AT_PATTERN, AT_DRIVER, AT_FIRST, AT_SECOND, AT_RATIO, AT_SECOND_IS, _AT_MAX };

static const struct table_column columns[_AT_MAX] = {
        [AT_PATTERN] = {"PATTERN", 0},
        [AT_DRIVER] = {"DRIVER", 0},
        [AT_FIRST] = {"FIRST", SCOLS_FL_RIGHT},
        [AT_SECOND] = {"SECOND", SCOLS_FL_RIGHT},
        [AT_RATIO] = {"RATIO", SCOLS_FL_RIGHT},
        [AT_SECOND_IS] = {"SECOND IS", 0},
};

/* What is laid side by side: the same question to both. */
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
               a->sync_engine == b->sync_engine && streq(a->name ?: "", b->name ?: "");
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

        stats_samples(a, p.a, p.driver_a, m, &p.samples_a);
        stats_samples(b, p.b, p.driver_b, m, &p.samples_b);
        if (p.samples_a.n == 0 || p.samples_b.n == 0)
                return;
        verdict_of(&p.samples_a, &p.samples_b, VERDICT_PRACTICAL, &p.verdict);
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

static int find_pairs(const struct bench *a, const struct bench *b, struct pair **ret, size_t *ret_n)
{
        struct pair *list = calloc(a->n_patterns * _DRIVER_MAX + 1, sizeof(*list));

        if (!list)
                return -ENOMEM;
        *ret_n = 0;
        for (unsigned i = 0; i < a->n_patterns; i++)
                for (unsigned k = 0; k < b->n_patterns; k++)
                        if (same_question(&a->patterns[i], &b->patterns[k])) {
                                add_pairs(a, b, i, k, list, ret_n);
                                break;
                        }
        *ret = list;
        return 0;
}

static void median_text(const struct samples *s, enum stats_measure m, char ret[static UNIT_TEXT_MAX])
{
        struct samples sorted = *s;

        (void) figure_text(stats_median(sorted.values, sorted.n), m, style_utf8(), ret);
}

static int add_row(struct libscols_table *t, const struct bench *a, const struct pair *p)
{
        struct libscols_line *line = scols_table_new_line(t, NULL);
        enum stats_measure m = stats_figure(&a->patterns[p->a]);
        char first[UNIT_TEXT_MAX], second[UNIT_TEXT_MAX], ratio[48] = "-", said[VERDICT_TEXT_MAX], drivers[48];
        char text[PATTERN_TEXT_MAX];
        int r = 0;

        if (!line)
                return -ENOMEM;
        median_text(&p->samples_a, m, first);
        median_text(&p->samples_b, m, second);
        if (p->verdict.has_ratio)
                (void) snprintf(ratio, sizeof(ratio), "%.2f (%.2f-%.2f)", p->verdict.ratio.middle, p->verdict.ratio.low,
                                p->verdict.ratio.high);
        if (p->driver_a == p->driver_b)
                (void) copy_string(drivers, sizeof(drivers), driver_label(p->driver_a));
        else
                (void) snprintf(drivers, sizeof(drivers), "%s, %s", driver_label(p->driver_a), driver_label(p->driver_b));
        const char *const cells[_AT_MAX] = {
                [AT_PATTERN] = pattern_text(&a->patterns[p->a], text),
                [AT_DRIVER] = drivers,
                [AT_FIRST] = first,
                [AT_SECOND] = second,
                [AT_RATIO] = ratio,
                [AT_SECOND_IS] = verdict_short(&p->verdict, said),
        };
        for (size_t i = 0; i < _AT_MAX && r == 0; i++)
                r = scols_line_set_data(line, i, cells[i]);
        return r;
}

/* What else has changed may be what made the difference. */
static void print_conditions(const struct bench *a, const struct bench *b)
{
        struct head_line first[HEAD_MAX], second[HEAD_MAX];
        size_t n = bench_head(a, true, first), m = bench_head(b, true, second);

        for (size_t i = 0; i < n; i++)
                for (size_t k = 0; k < m; k++) {
                        if (!streq(first[i].key, second[k].key))
                                continue;
                        if (streq(first[i].value, second[k].value)) {
                                printf("%8s: %s\n", first[i].key, HARMLESS(first[i].value));
                                continue;
                        }
                        printf("%8s: %s\n", first[i].key, HARMLESS(first[i].value));
                        printf("%8s  %s\n", "then", HARMLESS(second[k].value));
                }
        putchar('\n');
}

static int print_text(const struct ctl *c, const struct bench *a, const struct bench *b, const struct pair *list, size_t n)
{
        struct libscols_table *t;
        int r = 0;

        pager_open(c->options);
        print_conditions(a, b);
        t = table_new(columns, _AT_MAX, c->options->legend);
        for (size_t i = 0; t && i < n && r == 0; i++)
                r = add_row(t, a, &list[i]);
        return table_print(t, r);
}

static json_object *json_pair(const struct bench *a, const struct pair *p)
{
        const struct bench_verdict *v = &p->verdict;
        json_object *o = json_object_new_object();
        char text[PATTERN_TEXT_MAX];

        return o ? whole(o, put_string(o, "text", pattern_text(&a->patterns[p->a], text)) &&
                                    put_string(o, "driver_a", driver_to_string(p->driver_a)) &&
                                    put_string(o, "driver_b", driver_to_string(p->driver_b)) &&
                                    put(o, "comparison", bench_json_verdict(v, ""), false))
                 : NULL;
}

json_object *bench_json_diff(const struct bench *a, const struct bench *b)
{
        json_object *o = json_object_new_object(), *array = json_object_new_array();
        _cleanup_free_ struct pair *list = NULL;
        size_t n = 0;
        bool ok = o && array && find_pairs(a, b, &list, &n) >= 0;

        for (size_t i = 0; ok && i < n; i++)
                ok = append(array, json_pair(a, &list[i]));
        if (!ok) {
                json_object_put(array);
                return whole(o, false);
        }
        ok = put(o, "comparisons", array, false);
        return whole(o, ok && put_int(o, "version", BENCH_JSON_VERSION) && put_string(o, "a", a->id) && put_string(o, "b", b->id));
}

static int load(const struct kept *k, const char *what, struct bench *ret)
{
        int r = kept_find(k, what, ret);

        if (r >= 0)
                return UASD_EXIT_OK;
        if (r == -ENOENT)
                log_error("There is no result '%s'. uasctl bench --history lists those that are kept.", HARMLESS(what));
        else if (r == -ENOTUNIQ)
                log_error("More than one result begins with '%s': give more of it.", HARMLESS(what));
        else if (r == -EPROTONOSUPPORT)
                log_error("'%s' was written by a later version.", HARMLESS(what));
        else
                log_error("'%s' is no result of uasctl bench: %s", HARMLESS(what), strerror(-r));
        return UASD_EXIT_FAILED;
}

int bench_diff(const struct ctl *c, const char *a, const char *b)
{
        _cleanup_(kept_close) struct kept k = {.dirfd = -1};
        _cleanup_(bench_done) struct bench first = {}, second = {};
        _cleanup_free_ struct pair *list = NULL;
        size_t n = 0;
        int r, code;

        r = kept_open(&c->roots, &k);
        if (r < 0)
                log_warning("Cannot read the results that are kept: %s", strerror(-r));
        code = load(&k, a, &first);
        if (code == UASD_EXIT_OK)
                code = load(&k, b, &second);
        if (code != UASD_EXIT_OK)
                return code;
        if (c->options->json)
                return json_print(bench_json_diff(&first, &second)) < 0 ? UASD_EXIT_FAILED : UASD_EXIT_OK;
        r = find_pairs(&first, &second, &list, &n);
        if (r >= 0 && n == 0) {
                log_error("The two have no pattern in common: there is nothing to compare.");
                return UASD_EXIT_FAILED;
        }
        return r < 0 || print_text(c, &first, &second, list, n) < 0 ? UASD_EXIT_FAILED : UASD_EXIT_OK;
}
