/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Prints or removes one stored result. */
#include "bench/tell/chart.h"
#include "bench/tell/history.h"
#include "bench/tell/json.h"
#include "bench/tell/print.h"
#include "common/log.h"
#include "common/util.h"
#include "term/json.h"

#define ID_MIN 8 /* as --history shows it; a shorter word could remove the wrong result */

#define HARMLESS(s) make_harmless(s, (char[4096]){}, 4096)

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

int bench_load(const struct kept_results *k, const char *what, struct bench *ret)
{
        int r = kept_find(k, what, ret);

        return r < 0 ? tell_not_found(r, what) : UASD_EXIT_OK;
}

static int tell_json(const struct bench *b, FILE *out)
{
        json_object *o = bench_json(b);
        _cleanup_free_ char *text = json_text(o);

        json_object_put(o);
        return fprintf(out, "%s\n", text) < 0 ? -EIO : 0;
}

int bench_tell(const struct bench *b, enum bench_format how, FILE *out, bool legend)
{
        switch (how) {
        case BENCH_TABLE:
                return bench_print(b, out, legend);
        case BENCH_JSON:
                return tell_json(b, out);
        case BENCH_CSV:
                return bench_csv(b, out, legend);
        case BENCH_MARKDOWN:
                return bench_markdown(b, out);
        case _BENCH_FORMAT_MAX:
                break;
        }
        return -EINVAL;
}

int bench_tell_as_asked(const struct bench_context *c, const struct bench *b)
{
        const struct bench_options *o = c->options;
        enum bench_format how = c->options->json ? BENCH_JSON : o->csv ? BENCH_CSV : o->markdown ? BENCH_MARKDOWN : BENCH_TABLE;
        int k = bench_tell(b, how, stdout, !c->options->no_legend);

        if (k < 0) {
                log_error("Cannot print the result: %s", strerror(-k));
                return UASD_EXIT_FAILED;
        }
        return o->chart ? bench_chart(b, o->chart) : UASD_EXIT_OK;
}

int bench_show(const struct bench_context *c, const char *what)
{
        const char *chart = c->options->chart;
        _cleanup_(kept_close) struct kept_results k = {.dirfd = -1};
        _cleanup_(bench_done) struct bench b = {};
        int code = chart ? bench_chart_possible(chart) : UASD_EXIT_OK, r;

        if (code != UASD_EXIT_OK)
                return code;
        r = kept_open(&c->client.roots, &k);
        if (r < 0) /* a path needs no stored results */
                log_warning("Cannot read the stored results: %s", strerror(-r));
        code = bench_load(&k, what, &b);
        return code == UASD_EXIT_OK ? bench_tell_as_asked(c, &b) : code;
}

int bench_remove(const struct bench_context *c, const char *what)
{
        _cleanup_(kept_close) struct kept_results k = {.dirfd = -1};
        int r = kept_open(&c->client.roots, &k);
        size_t i;

        if (r < 0) {
                log_error("Cannot read the stored results: %s", strerror(-r));
                return UASD_EXIT_FAILED;
        }
        if (strlen(what) < ID_MIN) {
                log_error("--remove takes at least %i letters of an id.", ID_MIN);
                return UASD_EXIT_USAGE;
        }
        r = kept_index(&k, what, &i);
        if (r < 0)
                return tell_not_found(r, what);
        r = kept_remove(&k, i);
        if (r == -EACCES || r == -EPERM || r == -EROFS) {
                log_error("Not permitted: only root may remove results (%s).", strerror(-r));
                return UASD_EXIT_UNAUTHORIZED;
        }
        if (r < 0) {
                log_error("Cannot remove %s: %s", k.names[i], strerror(-r));
                return UASD_EXIT_FAILED;
        }
        log_info("Removed %s.", k.names[i]);
        return UASD_EXIT_OK;
}
