/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/tell/tell.h"

#include <assert.h>
#include <fcntl.h>
#include <time.h>

#include "client/client.h"
#include "common/log.h"
#include "common/names.h"
#include "common/util.h"
#include "sys/io/statefile.h"
#include "sys/io/sysfs.h"
#include "term/json.h"
#include "term/layout.h"
#include "term/terminal.h"

#define TIME_LENGTH 16
#define ID_LENGTH 36
#define ID_CHARACTERS "0123456789abcdef-"
#define SUFFIX ".json"
#define RESULT_MAX 1024
#define ID_MIN 8 /* as the list shows it; a shorter word could remove the wrong result */

#define HARMLESS(s) make_harmless(s, (char[4096]){}, 4096)

static char *text_of(const struct bench *b)
{
        json_object *o = bench_json(b);
        char *text = json_text(o);

        json_object_put(o);
        return text;
}

int bench_keep(const struct roots *roots, const struct bench *b)
{
        time_t t = (time_t) (b->started_usec / USEC_PER_SEC);
        _cleanup_free_ char *text = NULL;
        char when[TIME_LENGTH + 1];
        struct tm tm;

        if (strspn(b->id, ID_CHARACTERS) != ID_LENGTH || !gmtime_r(&t, &tm) ||
            strftime(when, sizeof(when), "%Y%m%dT%H%M%SZ", &tm) != TIME_LENGTH)
                return -EINVAL;
        text = text_of(b);
        return state_write(roots->var, path_join(STATE_BENCH "/", when, "-", b->id, SUFFIX), text, true);
}

/* The stored results. */
struct kept_results {
        int dirfd;    /* -1: no directory, and no names */
        char **names; /* newest first */
        size_t n;
        struct bench *all; /* read_all(): those that can be read */
        size_t n_all;
};

#define KEPT_NULL ((struct kept_results){.dirfd = -1})

static int newest_first(const void *a, const void *b)
{
        return -strcmp(*(char *const *) a, *(char *const *) b);
}

static int take_name(const char *name, void *data)
{
        struct kept_results *k = data;
        const char *id = name + TIME_LENGTH + 1;

        /* A leftover temporary file has another name. */
        if (strlen(name) != TIME_LENGTH + 1 + ID_LENGTH + strlen(SUFFIX) || strspn(name, "0123456789TZ") != TIME_LENGTH ||
            id[-1] != '-' || strspn(id, ID_CHARACTERS) != ID_LENGTH || !streq(id + ID_LENGTH, SUFFIX))
                return 0;
        return strv_push(&k->names, &k->n, name);
}

/* No result is not an error. Reports errors, and returns an enum uasd_exit. ret must be closed in either case. */
static int kept_open(const struct roots *roots, struct kept_results *ret)
{
        int r = 0;

        *ret = KEPT_NULL;
        ret->dirfd = roots->var < 0 ? -1 : openat(roots->var, STATE_BENCH, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (ret->dirfd >= 0)
                r = dir_each(ret->dirfd, ".", take_name, ret);
        else if (roots->var >= 0 && errno != ENOENT)
                r = -errno;
        if (r < 0)
                return log_failure(UASD_EXIT_FAILED, "Cannot read the stored results: %s", strerror(-r));
        if (ret->n > 1)
                qsort(ret->names, ret->n, sizeof(*ret->names), newest_first);
        return UASD_EXIT_OK;
}

static void kept_close(struct kept_results *k)
{
        k->dirfd = close_keep_errno(k->dirfd);
        strv_free(k->names);
        for (size_t i = 0; i < k->n_all; i++)
                bench_done(&k->all[i]);
        free(k->all);
        *k = KEPT_NULL;
}

/* By the beginning of its id or file name, or the newest one. Its index, -ENOENT, or -ENOTUNIQ: more than one begins with it. */
static int find_index(const struct kept_results *k, const char *what)
{
        int found = streq(what, "last") && k->n > 0 ? 0 : -ENOENT;

        for (size_t i = 0; *what && i < k->n; i++)
                if (startswith(k->names[i], what) || startswith(k->names[i] + TIME_LENGTH + 1, what)) {
                        if (found >= 0)
                                return -ENOTUNIQ;
                        found = (int) i;
                }
        return found;
}

static bool is_path(const char *what)
{
        return strchr(what, '/') || (access(what, F_OK) == 0 && endswith(what, SUFFIX) && !streq(what, SUFFIX));
}

static int tell_not_found(int error, const char *what)
{
        if (error == -ENOENT)
                log_error("There is no result '%s'. 'uasctl bench list' lists the stored ones.", HARMLESS(what));
        else if (error == -ENOTUNIQ)
                log_error("More than one result begins with '%s'. Give more letters.", HARMLESS(what));
        else if (error == -EPROTONOSUPPORT)
                log_error("'%s' was written by a later version.", HARMLESS(what));
        else
                log_error("'%s' is not a result of uasctl bench: %s", HARMLESS(what), strerror(-error));
        return UASD_EXIT_FAILED;
}

int bench_load(const struct bench_context *c, const char *what, struct bench *ret)
{
        _cleanup_(kept_close) struct kept_results k = KEPT_NULL;
        int r;

        if (is_path(what))
                r = bench_json_read(AT_FDCWD, what, ret);
        else {
                r = kept_open(&c->client.roots, &k);
                if (r != UASD_EXIT_OK)
                        return r;
                r = find_index(&k, what);
                assert(r < 0 || (k.names && (size_t) r < k.n));
                r = r < 0 ? r : bench_json_read(k.dirfd, k.names[r], ret);
        }
        return r < 0 ? tell_not_found(r, what) : UASD_EXIT_OK;
}

static int print_json(const struct bench *b, FILE *out, bool legend)
{
        _cleanup_free_ char *text = text_of(b);

        return fprintf(out, "%s\n", text) < 0 ? -EIO : 0;
}

int bench_tell(const struct bench *b, enum bench_format how, FILE *out, bool legend)
{
        static int (*const formats[])(const struct bench *b, FILE *out, bool legend) = {
                [BENCH_TABLE] = bench_print,
                [BENCH_JSON] = print_json,
                [BENCH_CSV] = bench_csv,
                [BENCH_MARKDOWN] = bench_markdown,
                [BENCH_MARKDOWN_FULL] = bench_markdown_full,
        };

        return formats[how](b, out, legend);
}

int bench_tell_as_asked(const struct bench_context *c, const struct bench *b)
{
        const struct bench_options *o = c->options;
        enum bench_format how = o->json            ? BENCH_JSON
                                : o->csv           ? BENCH_CSV
                                : o->markdown_full ? BENCH_MARKDOWN_FULL
                                : o->markdown      ? BENCH_MARKDOWN
                                                   : BENCH_TABLE;
        int k = bench_tell(b, how, stdout, !o->no_legend);

        if (k < 0)
                return log_failure(UASD_EXIT_FAILED, "Cannot print the result: %s", strerror(-k));
        return o->chart ? bench_chart(b, o->chart) : UASD_EXIT_OK;
}

int bench_show(const struct bench_context *c, char *const *words)
{
        const char *chart = c->options->chart;
        _cleanup_(bench_done) struct bench b = {};
        int code = chart ? bench_chart_possible(chart) : UASD_EXIT_OK;

        if (code == UASD_EXIT_OK)
                code = bench_load(c, words[0], &b);
        return code == UASD_EXIT_OK ? bench_tell_as_asked(c, &b) : code;
}

int bench_remove(const struct bench_context *c, char *const *words)
{
        const char *what = words[0];
        _cleanup_(kept_close) struct kept_results k = KEPT_NULL;
        int r = kept_open(&c->client.roots, &k);

        if (r != UASD_EXIT_OK)
                return r;
        if (strlen(what) < ID_MIN)
                return log_failure(UASD_EXIT_USAGE, "'%s' takes at least %i letters of an id.", c->options->said, ID_MIN);
        r = find_index(&k, what);
        if (r < 0)
                return tell_not_found(r, what);
        if (unlinkat(k.dirfd, k.names[r], 0) == 0) {
                log_info("Removed %s.", k.names[r]);
                return UASD_EXIT_OK;
        }
        if (errno == EACCES || errno == EPERM || errno == EROFS)
                return log_failure(UASD_EXIT_UNAUTHORIZED, "Not permitted: only root may remove results (%s).", strerror(errno));
        return log_failure(UASD_EXIT_FAILED, "Cannot remove %s: %s", k.names[r], strerror(errno));
}

/* ---- the list of them ---- */

/* Without a comparison: the figure of the first pattern under its driver. */
static void single_text(const struct bench *b, char *ret, size_t size)
{
        ret[0] = '\0';
        for (unsigned i = 0; i < b->n_patterns; i++)
                for (enum driver d = 0; d < _DRIVER_MAX; d++) {
                        enum stats_measure m = stats_figure(&b->patterns[i]);
                        struct summary sum = stats_of(b, i, d, m);

                        if (sum.n == 0)
                                continue;
                        (void) snprintf(ret, size, "%s: %s%s%s", PATTERN_TEXT(b, i), FIGURE_TEXT(sum.median, m, false),
                                        d == DRIVER_NONE ? "" : " on ", d == DRIVER_NONE ? "" : driver_to_string(d));
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
        char link[UNIT_TEXT_MAX] = "-", rounds[24], result[RESULT_MAX], id[16];

        (void) snprintf(id, sizeof(id), "%.8s", b->id);
        if (b->conditions.speed_mbps > 0)
                (void) snprintf(link, sizeof(link), "%uM", b->conditions.speed_mbps);
        (void) snprintf(rounds, sizeof(rounds), "%zu", rounds_of(b));
        result_text(b, result, sizeof(result));
        const char *const cells[_AT_MAX] = {
                [AT_ID] = id,
                [AT_DATE] = DAY_TEXT(b->started_usec),
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
static int filter(const struct bench_context *c, const char *disk, struct kept_results *k)
{
        _cleanup_(views_done) struct views views = {};
        const struct view *v = NULL;
        bool by_serial = false;
        struct bench *all = k->all;
        size_t n = k->n_all;
        char id[16] = "";

        for (size_t i = 0; i < n; i++)
                by_serial = by_serial || (*disk && streq(all[i].conditions.serial, disk));
        if (!by_serial) {
                int code = source_read(&c->client, DETAIL_NO_USERS, &views);

                if (code == UASD_EXIT_OK)
                        code = source_select(&c->client, &views, disk, &v);
                if (code != UASD_EXIT_OK)
                        return code;
                (void) snprintf(id, sizeof(id), "%04x:%04x", v->disk.facts.vid, v->disk.facts.pid);
        }
        k->n_all = 0;
        for (size_t i = 0; i < n; i++)
                if (streq(all[i].conditions.serial, v ? v->disk.facts.serial : disk) && startswith(all[i].conditions.bridge, id))
                        all[k->n_all++] = all[i];
                else
                        bench_done(&all[i]);
        return UASD_EXIT_OK;
}

/* Reports the files that it cannot read. */
static void read_all(struct kept_results *k)
{
        k->all = need(calloc(k->n + 1, sizeof(*k->all)));
        for (size_t i = 0; i < k->n; i++) {
                int r = bench_json_read(k->dirfd, k->names[i], &k->all[k->n_all]);

                if (r < 0)
                        log_warning("%s cannot be read: %s", k->names[i], strerror(-r));
                else
                        k->n_all++;
        }
}

static void list_json(const struct kept_results *k)
{
        json_object *list = json_list();

        for (size_t i = 0; i < k->n_all; i++)
                append(list, bench_json(&k->all[i]));
        json_print(json_make({"benches", list}, {"version", new_int(BENCH_JSON_VERSION)}));
}

static void list_table(const struct bench_context *c, const struct kept_results *k)
{
        struct libscols_table *t = table_new(columns, _AT_MAX, !c->options->no_legend);

        for (size_t i = 0; i < k->n_all; i++)
                add_result(t, &k->all[i]);
        pager_open(!c->options->no_pager);
        table_print(t, columns, _AT_MAX);
}

int bench_history(const struct bench_context *c, char *const *words)
{
        const char *disk = words[0];
        _cleanup_(kept_close) struct kept_results k = KEPT_NULL;
        int code = kept_open(&c->client.roots, &k);

        if (code != UASD_EXIT_OK)
                return code;
        read_all(&k);
        code = disk ? filter(c, disk, &k) : UASD_EXIT_OK;
        if (code == UASD_EXIT_OK && c->options->json)
                list_json(&k);
        else if (code == UASD_EXIT_OK && k.n_all > 0)
                list_table(c, &k);
        else if (code == UASD_EXIT_OK)
                log_info("No result is stored%s. Make one: uasctl bench DISK", disk ? " of this disk" : "");
        return code;
}
