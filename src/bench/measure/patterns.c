/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/measure/patterns.h"

#include <strings.h>

#include "bench/measure/fio.h"
#include "bench/measure/sweep.h"
#include "common/exit-codes.h"
#include "common/log.h"
#include "term/program.h"

static int wrong_sweep(const char *sweep, int error, const char *word)
{
        int n = word ? (int) strcspn(word, ",") : 0;

        if (error == -ERANGE)
                log_error(
                        "--sweep=%s: '%.*s' is out of range: depth and jobs go from 1 to 32, a region begins at 1M, runtime goes "
                        "from 1 to 3600 s, ramp from 0.",
                        sweep, n, word);
        else if (error == -EEXIST)
                log_error("--sweep=%s: '%.*s' occurs twice.", sweep, n, word);
        else
                log_error("--sweep=%s: it takes depth, jobs, region, runtime or ramp, and perhaps a list: depth=1,8,32.", sweep);
        return UASD_EXIT_USAGE;
}

/* Whether a point with the same job file exists. Patterns that differ only in the varied figure lead to the same points. */
static bool is_there(const struct bench *b, const struct asked *asked, const struct fio_job *job, uint64_t available)
{
        _cleanup_free_ char *text = fio_job_text(job, "", fio_region_each(job->pattern, available));
        bool found = false;

        for (size_t i = 0; i < b->n_patterns && !found; i++) {
                struct fio_job other = {.pattern = &b->patterns[i], .section = asked[i].section};
                _cleanup_free_ char *told = fio_job_text(&other, "", fio_region_each(other.pattern, available));

                found = streq(told, text) && other.pattern->axis == job->pattern->axis;
        }
        return found;
}

static int add_pattern(const struct profile *profile, size_t i, const struct bench_options *o, uint64_t available,
                       const struct sweep *s, struct bench *b, struct asked *asked)
{
        struct bench_pattern base = profile->patterns[i], points[SWEEP_VALUES_MAX];
        int n, left = 0;

        if (o->runtime_sec) {
                base.runtime_sec = o->runtime_sec;
                base.time_based = true;
        }
        n = sweep_make(&base, s, available, points);

        if (n == -EOPNOTSUPP) {
                log_info("%s: the engine is synchronous, so the depth has no effect.", base.name);
                return UASD_EXIT_OK;
        }
        if (n == -ENOSPC) {
                if (s->listed)
                        log_error("--sweep=%s: too little room for '%s'. Use smaller values or a larger file.", o->sweep,
                                  base.name);
                else
                        log_error("The smallest region does not fit.");
                return UASD_EXIT_FAILED;
        }
        for (int k = 0; k < n; k++) {
                struct fio_job job = {.pattern = &points[k], .section = profile->sections[i]};

                if (o->sweep && is_there(b, asked, &job, available)) {
                        left++;
                        continue;
                }
                asked[b->n_patterns] = (struct asked){profile->sections[i], s->axis == BENCH_AXIS_CLIENTS ? s->values[k] : 0};
                b->patterns[b->n_patterns++] = points[k];
        }
        if (left > 0)
                log_info("%s: %i of %i points are the same as those of another pattern, and are left out.", base.name, left, n);
        return UASD_EXIT_OK;
}

static bool is_asked_for(const struct bench_options *o, const struct bench_pattern *p)
{
        return !o->pattern || strcasecmp(o->pattern, p->name) == 0;
}

static int nothing_left(const struct profile *profile, const struct bench_options *o)
{
        bool found = false;

        for (size_t i = 0; i < profile->n_patterns; i++)
                found = found || is_asked_for(o, &profile->patterns[i]);
        if (o->pattern && !found) {
                log_error("The profile '%s' has no pattern '%s'%s:", profile->name, o->pattern,
                          o->write || o->destroy_data ? "" : " that only reads");
                for (size_t i = 0; i < profile->n_patterns; i++)
                        log_error("  %s", profile->patterns[i].name);
        } else if (o->sweep)
                log_error("There is nothing to vary in the profile '%s' by --sweep=%s.", profile->name, o->sweep);
        else
                log_error("The profile '%s' only writes. Use --write with --file=DIRECTORY, or --destroy-data.", profile->name);
        return UASD_EXIT_USAGE;
}

int patterns_make(const struct profile *profile, const struct bench_options *o, uint64_t available, size_t n_clients,
                  struct bench *b, struct asked **ret_asked)
{
        struct sweep s = sweep_clients(n_clients);
        const char *word;
        int r;

        if (o->sweep && (r = sweep_parse(o->sweep, &s, &word)) < 0)
                return wrong_sweep(o->sweep, r, word);
        b->axis = s.axis;
        (void) copy_string(b->profile, sizeof(b->profile), profile->name);
        b->patterns = need(calloc(profile->n_patterns * s.n + 1, sizeof(*b->patterns)));
        *ret_asked = need(calloc(profile->n_patterns * s.n + 1, sizeof(**ret_asked)));
        for (size_t i = 0; i < profile->n_patterns; i++) {
                int code = is_asked_for(o, &profile->patterns[i]) ? add_pattern(profile, i, o, available, &s, b, *ret_asked)
                                                                  : UASD_EXIT_OK;

                if (code != UASD_EXIT_OK)
                        return code;
        }
        return b->n_patterns > 0 ? UASD_EXIT_OK : nothing_left(profile, o);
}
