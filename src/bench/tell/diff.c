/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Two results, with the same statistics as two drivers. */
#include "bench/tell/history.h"

#include "bench/tell/json.h"
#include "bench/tell/kept.h"
#include "bench/tell/pairs.h"
#include "bench/tell/print.h"
#include "bench/tell/units.h"
#include "common/log.h"
#include "common/util.h"
#include "term/fit.h"
#include "term/json.h"
#include "term/pager.h"
#include "term/program.h"
#include "term/style.h"
#include "term/table.h"

enum { AT_PATTERN, AT_DRIVER, AT_FIRST, AT_SECOND, AT_RATIO, AT_NOTES, AT_SECOND_IS, _AT_MAX };

static const struct table_column columns[_AT_MAX] = {
        [AT_PATTERN] = {"PATTERN", 0},          [AT_DRIVER] = {"DRIVER", 0},
        [AT_FIRST] = {"FIRST", SCOLS_FL_RIGHT}, [AT_SECOND] = {"SECOND", SCOLS_FL_RIGHT},
        [AT_RATIO] = {"RATIO", SCOLS_FL_RIGHT}, [AT_NOTES] = {"NOTES", 0},
        [AT_SECOND_IS] = {"SECOND IS", 0},
};

static const struct fit_column fits[_AT_MAX] = {
        [AT_PATTERN] = {FIT_NAMES, 0}, [AT_DRIVER] = {FIT_LAST, 0},  [AT_FIRST] = {FIT_LAST, 0},     [AT_SECOND] = {FIT_LAST, 0},
        [AT_RATIO] = {FIT_BLANKS, 1},  [AT_NOTES] = {FIT_BLANKS, 0}, [AT_SECOND_IS] = {FIT_LAST, 0},
};

/* Of the figures and of the comparison: what stands under the table. */
struct diff_printer {
        const struct bench *a, *b;
        struct notes notes;
};

static void median_text(const struct samples *s, enum stats_measure m, char ret[static UNIT_TEXT_MAX])
{
        struct samples sorted = *s;

        (void) figure_text(stats_median(sorted.values, sorted.n), m, style_utf8(), ret);
}

static void add_note(struct notes *notes, const char *text, char ret[static NOTES_TEXT_MAX])
{
        size_t number = notes_add(notes, text), used = strlen(ret);

        if (number > 0)
                (void) snprintf(ret + used, NOTES_TEXT_MAX - used, "%s[%zu]", used ? " " : "", number);
        else
                (void) snprintf(ret + used, NOTES_TEXT_MAX - used, "%s[+]", used ? " " : "");
}

/* What speaks against comparing them, then what is doubted of either. */
static void notes_text(struct diff_printer *to, const struct pair *p, char ret[static NOTES_TEXT_MAX])
{
        unsigned first = doubts_of(to->a, p->a, p->driver_a), second = doubts_of(to->b, p->b, p->driver_b);
        char differs[PAIR_DIFFERS_MAX][DOUBT_TEXT_MAX], said[DOUBT_TEXT_MAX], text[DOUBT_TEXT_MAX];
        size_t n = pair_differs(to->a, to->b, p, differs);

        ret[0] = '\0';
        for (size_t i = 0; i < n; i++)
                add_note(&to->notes, differs[i], ret);
        for (enum bench_doubt d = 0; d < _BENCH_DOUBT_MAX; d++) {
                if (first & (1U << d)) {
                        (void) doubt_text(to->a, p->a, p->driver_a, d, said);
                        (void) snprintf(text, sizeof(text), "first: %.*s", DOUBT_TEXT_MAX - 8, said);
                        add_note(&to->notes, text, ret);
                }
                if (second & (1U << d)) {
                        (void) doubt_text(to->b, p->b, p->driver_b, d, said);
                        (void) snprintf(text, sizeof(text), "second: %.*s", DOUBT_TEXT_MAX - 9, said);
                        add_note(&to->notes, text, ret);
                }
        }
}

static void add_row(struct libscols_table *t, struct diff_printer *to, const struct pair *p)
{
        const struct bench *a = to->a;
        enum stats_measure m = stats_figure(&a->patterns[p->a]);
        char first[UNIT_TEXT_MAX], second[UNIT_TEXT_MAX], ratio[48] = "-", said[VERDICT_TEXT_MAX], drivers[48];
        char text[PATTERN_TEXT_MAX], notes[NOTES_TEXT_MAX];

        median_text(&p->samples_a, m, first);
        median_text(&p->samples_b, m, second);
        if (p->verdict.has_ratio)
                (void) snprintf(ratio, sizeof(ratio), "%.2f (%.2f-%.2f)", p->verdict.ratio.middle, p->verdict.ratio.low,
                                p->verdict.ratio.high);
        if (p->driver_a == p->driver_b)
                (void) copy_string(drivers, sizeof(drivers), driver_label(p->driver_a));
        else
                (void) snprintf(drivers, sizeof(drivers), "%s, %s", driver_label(p->driver_a), driver_label(p->driver_b));
        notes_text(to, p, notes);
        const char *const cells[_AT_MAX] = {
                [AT_PATTERN] = pattern_text(&a->patterns[p->a], text),
                [AT_DRIVER] = drivers,
                [AT_FIRST] = first,
                [AT_SECOND] = second,
                [AT_RATIO] = ratio,
                [AT_NOTES] = notes,
                [AT_SECOND_IS] = verdict_short(&p->verdict, said),
        };
        (void) table_row(t, NULL, cells);
}

/* What else has changed may be what made the difference. */
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
        _cleanup_free_ struct diff_printer *to = need(calloc(1, sizeof(*to)));
        struct libscols_table *t = table_new(columns, _AT_MAX, !c->options->no_legend);
        int r;

        to->a = a;
        to->b = b;
        pager_open(!c->options->no_pager);
        r = print_conditions(a, b);
        for (size_t i = 0; i < n; i++)
                add_row(t, to, &list[i]);
        r = table_print(t, r < 0 ? r : table_fit(t, fits, _AT_MAX));
        return r < 0 ? r : bench_print_notes(stdout, &to->notes);
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

        put_string(o, "text", pattern_text(&a->patterns[p->a], text));
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
        _cleanup_(kept_close) struct kept_results k = {.dirfd = -1};
        _cleanup_(bench_done) struct bench first = {}, second = {};
        _cleanup_free_ struct pair *list = NULL;
        int r = kept_open(&c->client.roots, &k), code;
        size_t n;

        if (r < 0) {
                log_warning("Cannot read the results that are kept: %s", strerror(-r));
                r = 0;
        }
        code = bench_load(&k, a, &first);
        if (code == UASD_EXIT_OK)
                code = bench_load(&k, b, &second);
        if (code != UASD_EXIT_OK)
                return code;
        n = pairs_find(&first, &second, &list);
        if (c->options->json)
                json_print(bench_json_diff(&first, &second));
        else if (n > 0)
                r = print_text(c, &first, &second, list, n);
        if (n == 0)
                log_error("The two have no pattern in common: there is nothing to compare.");
        return r < 0 || n == 0 ? UASD_EXIT_FAILED : UASD_EXIT_OK;
}
