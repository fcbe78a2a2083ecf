/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/tell/kept.h"

#include "bench/tell/head.h"
#include "bench/tell/json.h"
#include "bench/tell/units.h"
#include "bench/tell/verdict.h"
#include "client/client.h"
#include "common/log.h"
#include "common/util.h"
#include "term/json.h"
#include "term/pager.h"
#include "term/table.h"

#define RESULT_MAX 1024
#define HARMLESS(s) make_harmless(s, (char[4096]){}, 4096)

/* Without a comparison: the figure of the first pattern under its driver. */
static void single_text(const struct bench *b, char *ret, size_t size)
{
        char pattern[PATTERN_TEXT_MAX], figure[UNIT_TEXT_MAX];

        ret[0] = '\0';
        for (unsigned i = 0; i < b->n_patterns; i++)
                for (enum driver d = 0; d < _DRIVER_MAX; d++) {
                        enum stats_measure m = stats_figure(&b->patterns[i]);
                        struct summary sum = stats_of(b, i, d, m);

                        if (sum.n == 0)
                                continue;
                        (void) snprintf(ret, size, "%s: %s%s%s", pattern_text(b, i, pattern),
                                        figure_text(sum.median, m, false, figure), d == DRIVER_NONE ? "" : " on ",
                                        d == DRIVER_NONE ? "" : driver_to_string(d));
                        return;
                }
}

/* The result in one clause. A finding comes first. */
static void result_text(const struct bench *b, char *ret, size_t size)
{
        if (b->finding.found)
                (void) snprintf(ret, size, "%s failed: %.512s", driver_to_string(b->finding.driver), b->finding.what);
        else if (!*verdict_overall(b, ret, size))
                single_text(b, ret, size);
}

static bool is_of_disk(const struct bench *b, uint16_t vid, uint16_t pid, const char *serial)
{
        char id[16];

        (void) snprintf(id, sizeof(id), "%04x:%04x", vid, pid);
        return strncmp(b->conditions.bridge, id, strlen(id)) == 0 && streq(b->conditions.serial, serial);
}

enum { AT_ID, AT_DATE, AT_DISK, AT_PROFILE, AT_LINK, AT_ROUNDS, AT_RESULT, _AT_MAX };

static const struct table_column columns[_AT_MAX] = {
        /* clang-format off */
        [AT_ID] = {"ID"},
        [AT_DATE] = {"DATE", .folds = FIT_BLANKS, .goes = 4},
        [AT_DISK] = {"DISK", .folds = FIT_BLANKS, .goes = 5},
        [AT_PROFILE] = {"PROFILE", .folds = FIT_BLANKS, .goes = 3},
        [AT_LINK] = {"LINK", SCOLS_FL_RIGHT, .goes = 1},
        [AT_ROUNDS] = {"ROUNDS", SCOLS_FL_RIGHT, .goes = 2},
        [AT_RESULT] = {"RESULT", .folds = FIT_BLANKS},
        /* clang-format on */
};

static void add_result(void *to, const struct bench *b)
{
        char when[UNIT_TEXT_MAX], link[UNIT_TEXT_MAX] = "-", rounds[24], result[RESULT_MAX], id[16];

        (void) snprintf(id, sizeof(id), "%.8s", b->id);
        if (b->conditions.speed_mbps > 0)
                (void) snprintf(link, sizeof(link), "%uM", b->conditions.speed_mbps);
        (void) snprintf(rounds, sizeof(rounds), "%zu", rounds_of(b));
        result_text(b, result, sizeof(result));
        const char *const cells[_AT_MAX] = {
                [AT_ID] = id,
                [AT_DATE] = day_text(b->started_usec, true, when),
                [AT_DISK] = HARMLESS(*b->conditions.model  ? b->conditions.model
                                     : *b->conditions.path ? b->conditions.path
                                                           : "-"),
                [AT_PROFILE] = HARMLESS(*b->profile ? b->profile : "-"),
                [AT_LINK] = link,
                [AT_ROUNDS] = rounds,
                [AT_RESULT] = HARMLESS(result),
        };
        (void) table_row(to, NULL, cells);
}

/* Finds the disk: one that is plugged in, or otherwise its serial number. */
static int find_disk(const struct bench_context *c, const struct kept_results *k, const char *disk, struct views *views,
                     const struct view **ret)
{
        int code;

        *ret = NULL;
        for (size_t i = 0; i < k->n; i++) {
                _cleanup_(bench_done) struct bench b = {};

                if (kept_read(k, i, &b) == 0 && *disk && streq(b.conditions.serial, disk))
                        return UASD_EXIT_OK;
        }
        code = source_read(&c->client, DETAIL_NO_USERS, views);
        return code == UASD_EXIT_OK ? source_select(&c->client, views, disk, ret) : code;
}

static bool is_asked_for(const struct bench *b, const char *disk, const struct view *v)
{
        if (!disk)
                return true;
        if (!v)
                return streq(b->conditions.serial, disk);
        return is_of_disk(b, v->disk.facts.vid, v->disk.facts.pid, v->disk.facts.serial);
}

/* Calls fn for each readable result, newest first. Reports why the others are not readable. */
static size_t each(const struct kept_results *k, const char *disk, const struct view *v,
                   void (*fn)(void *to, const struct bench *b), void *to)
{
        size_t n = 0;

        for (size_t i = 0; i < k->n; i++) {
                _cleanup_(bench_done) struct bench b = {};
                int error = kept_read(k, i, &b);

                if (error < 0)
                        log_warning("%s cannot be read: %s", k->names[i], strerror(-error));
                else if (is_asked_for(&b, disk, v)) {
                        fn(to, &b);
                        n++;
                }
        }
        return n;
}

static void to_json(void *to, const struct bench *b)
{
        append(to, bench_json(b));
}

static void print_json(const struct kept_results *k, const char *disk, const struct view *v)
{
        json_object *o = json_new(), *list = json_list();

        (void) each(k, disk, v, to_json, list);
        put(o, "benches", list);
        put_int(o, "version", BENCH_JSON_VERSION);
        json_print(o);
}

static int print_results(const struct bench_context *c, const struct kept_results *k, const char *disk, const struct view *v)
{
        struct libscols_table *t = table_new(columns, _AT_MAX, !c->options->no_legend);

        if (each(k, disk, v, add_result, t) == 0) {
                scols_unref_table(t);
                log_info("No result is stored%s. Make one: uasctl bench DISK", disk ? " of this disk" : "");
                return 0;
        }
        pager_open(!c->options->no_pager);
        return table_print(t, columns, _AT_MAX);
}

int bench_history(const struct bench_context *c, const char *disk)
{
        _cleanup_(kept_close) struct kept_results k = KEPT_NULL;
        _cleanup_(views_done) struct views views = {};
        const struct view *v = NULL;
        int r = kept_open(&c->client.roots, &k), code;

        if (r < 0) {
                log_error("Cannot read the stored results: %s", strerror(-r));
                return UASD_EXIT_FAILED;
        }
        code = disk ? find_disk(c, &k, disk, &views, &v) : UASD_EXIT_OK;
        if (code != UASD_EXIT_OK)
                return code;
        if (c->options->json)
                print_json(&k, disk, v);
        else
                r = print_results(c, &k, disk, v);
        return r < 0 ? UASD_EXIT_FAILED : UASD_EXIT_OK;
}
