/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/tell/tell.h"

#include "client/client.h"
#include "common/log.h"
#include "common/util.h"
#include "term/json.h"
#include "term/layout.h"
#include "term/terminal.h"

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

static void add_result(struct libscols_table *t, const struct bench *b)
{
        char when[UNIT_TEXT_MAX], link[UNIT_TEXT_MAX] = "-", rounds[24], result[RESULT_MAX], id[16];

        (void) snprintf(id, sizeof(id), "%.8s", b->id);
        if (b->conditions.speed_mbps > 0)
                (void) snprintf(link, sizeof(link), "%uM", b->conditions.speed_mbps);
        (void) snprintf(rounds, sizeof(rounds), "%zu", rounds_of(b));
        result_text(b, result, sizeof(result));
        const char *const cells[_AT_MAX] = {
                [AT_ID] = id,
                [AT_DATE] = day_text(b->started_usec, when),
                [AT_DISK] = HARMLESS(*b->conditions.model  ? b->conditions.model
                                     : *b->conditions.path ? b->conditions.path
                                                           : "-"),
                [AT_PROFILE] = HARMLESS(*b->profile ? b->profile : "-"),
                [AT_LINK] = link,
                [AT_ROUNDS] = rounds,
                [AT_RESULT] = HARMLESS(result),
        };
        (void) table_row(t, NULL, cells);
}

/* A name is the serial number of a stored result, or that of a disk that is plugged in. Leaves the results of this disk. */
static int filter(const struct bench_context *c, const char *disk, struct bench *all, size_t *n)
{
        _cleanup_(views_done) struct views views = {};
        const struct view *v = NULL;
        bool by_serial = false;
        size_t kept = 0;
        char id[16] = "";

        for (size_t i = 0; i < *n; i++)
                by_serial = by_serial || (*disk && streq(all[i].conditions.serial, disk));
        if (!by_serial) {
                int code = source_read(&c->client, DETAIL_NO_USERS, &views);

                if (code == UASD_EXIT_OK)
                        code = source_select(&c->client, &views, disk, &v);
                if (code != UASD_EXIT_OK)
                        return code;
                (void) snprintf(id, sizeof(id), "%04x:%04x", v->disk.facts.vid, v->disk.facts.pid);
        }
        for (size_t i = 0; i < *n; i++)
                if (streq(all[i].conditions.serial, v ? v->disk.facts.serial : disk) &&
                    strncmp(all[i].conditions.bridge, id, strlen(id)) == 0)
                        all[kept++] = all[i];
                else
                        bench_done(&all[i]);
        *n = kept;
        return UASD_EXIT_OK;
}

/* Newest first, without those that cannot be read, which are reported. Returns an array to be freed. */
static struct bench *read_all(const struct kept_results *k, size_t *ret_n)
{
        struct bench *all = need(calloc(k->n + 1, sizeof(*all)));
        size_t n = 0;

        for (size_t i = 0; i < k->n; i++) {
                int r = bench_json_read(k->dirfd, k->names[i], &all[n]);

                if (r < 0)
                        log_warning("%s cannot be read: %s", k->names[i], strerror(-r));
                else
                        n++;
        }
        *ret_n = n;
        return all;
}

static void print_json(const struct bench *all, size_t n)
{
        json_object *list = json_list();

        for (size_t i = 0; i < n; i++)
                append(list, bench_json(&all[i]));
        json_print(json_make({"benches", list}, {"version", new_int(BENCH_JSON_VERSION)}));
}

static int print_table(const struct bench_context *c, const struct bench *all, size_t n)
{
        struct libscols_table *t = table_new(columns, _AT_MAX, !c->options->no_legend);

        for (size_t i = 0; i < n; i++)
                add_result(t, &all[i]);
        pager_open(!c->options->no_pager);
        return table_print(t, columns, _AT_MAX);
}

int bench_history(const struct bench_context *c, char *const *words)
{
        const char *disk = words[0];
        _cleanup_(kept_close) struct kept_results k = KEPT_NULL;
        _cleanup_free_ struct bench *all = NULL;
        int code = kept_open(&c->client.roots, &k);
        size_t n;

        if (code != UASD_EXIT_OK)
                return code;
        all = read_all(&k, &n);
        code = disk ? filter(c, disk, all, &n) : UASD_EXIT_OK;
        if (code == UASD_EXIT_OK && c->options->json)
                print_json(all, n);
        else if (code == UASD_EXIT_OK && n > 0)
                code = print_table(c, all, n) < 0 ? UASD_EXIT_FAILED : UASD_EXIT_OK;
        else if (code == UASD_EXIT_OK)
                log_info("No result is stored%s. Make one: uasctl bench DISK", disk ? " of this disk" : "");
        for (size_t i = 0; i < n; i++)
                bench_done(&all[i]);
        return code;
}
