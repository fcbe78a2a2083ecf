/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/tell/tell.h"

#include <assert.h>
#include <fcntl.h>
#include <time.h>

#include "common/log.h"
#include "common/names.h"
#include "common/util.h"
#include "sys/io/statefile.h"
#include "sys/io/sysfs.h"
#include "term/json.h"
#include "term/terminal.h"

#define TIME_FORMAT "%Y%m%dT%H%M%SZ"
#define TIME_LENGTH 16
#define ID_LENGTH 36
#define SUFFIX ".json"
#define ID_MIN 8 /* as the list shows it; a shorter word could remove the wrong result */

#define HARMLESS(s) make_harmless(s, (char[4096]){}, 4096)

static char *text_of(const struct bench *b)
{
        json_object *o = bench_json(b);
        char *text = json_text(o);

        json_object_put(o);
        return text;
}

int bench_keep(const struct roots *roots, const struct bench *b, char **ret_name)
{
        time_t t = (time_t) (b->started_usec / USEC_PER_SEC);
        char when[TIME_LENGTH + 1], name[TIME_LENGTH + ID_LENGTH + sizeof("-" SUFFIX)], path[256];
        _cleanup_free_ char *text = NULL;
        struct tm tm;
        int r;

        if (strlen(b->id) != ID_LENGTH || strspn(b->id, "0123456789abcdef-") != ID_LENGTH || !gmtime_r(&t, &tm) ||
            strftime(when, sizeof(when), TIME_FORMAT, &tm) != TIME_LENGTH)
                return -EINVAL;
        (void) snprintf(name, sizeof(name), "%s-%s" SUFFIX, when, b->id);
        (void) snprintf(path, sizeof(path), STATE_BENCH "/%s", name);
        text = text_of(b);
        r = state_write(roots->var, path, text, true);
        if (r >= 0 && ret_name)
                *ret_name = need(strdup(name));
        return r;
}

/* Whether the name is that of a result. A leftover temporary file has another name. */
static bool is_ours(const char *name)
{
        return strlen(name) == TIME_LENGTH + 1 + ID_LENGTH + strlen(SUFFIX) && strspn(name, "0123456789TZ") == TIME_LENGTH &&
               name[TIME_LENGTH] == '-' && strspn(name + TIME_LENGTH + 1, "0123456789abcdef-") == ID_LENGTH &&
               streq(name + TIME_LENGTH + 1 + ID_LENGTH, SUFFIX);
}

static int newest_first(const void *a, const void *b)
{
        return -strcmp(*(char *const *) a, *(char *const *) b);
}

static int take_name(const char *name, void *data)
{
        struct kept_results *k = data;

        return is_ours(name) ? strv_push(&k->names, &k->n, name) : 0;
}

int kept_open(const struct roots *roots, struct kept_results *ret)
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

void kept_close(struct kept_results *k)
{
        k->dirfd = close_keep_errno(k->dirfd);
        strv_free(k->names);
        *k = KEPT_NULL;
}

static bool begins(const char *name, const char *what)
{
        size_t n = strlen(what);

        return strncmp(name, what, n) == 0 || strncmp(name + TIME_LENGTH + 1, what, n) == 0;
}

/* By the beginning of its id or file name, or the newest one. Its index, -ENOENT, or -ENOTUNIQ: more than one begins with it. */
static int find_index(const struct kept_results *k, const char *what)
{
        int found = streq(what, "last") && k->n > 0 ? 0 : -ENOENT;

        for (size_t i = 0; *what && i < k->n; i++)
                if (begins(k->names[i], what)) {
                        if (found >= 0)
                                return -ENOTUNIQ;
                        found = (int) i;
                }
        return found;
}

static bool is_path(const char *what)
{
        size_t n = strlen(what), suffix = strlen(SUFFIX);

        return strchr(what, '/') || (access(what, F_OK) == 0 && n > suffix && streq(what + n - suffix, SUFFIX));
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
        };

        return formats[how](b, out, legend);
}

int bench_tell_as_asked(const struct bench_context *c, const struct bench *b)
{
        const struct bench_options *o = c->options;
        enum bench_format how = o->json ? BENCH_JSON : o->csv ? BENCH_CSV : o->markdown ? BENCH_MARKDOWN : BENCH_TABLE;
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
                return log_failure(UASD_EXIT_USAGE, "'%s' takes at least %i letters of an id.",
                                   c->options->remove ? "--remove" : "remove", ID_MIN);
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
