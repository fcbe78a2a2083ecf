/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/measure/patterns.h"

#include <strings.h>

#include "bench/measure/clients.h"
#include "bench/measure/fio-parts.h"
#include "bench/measure/sweep.h"
#include "common/exit-codes.h"
#include "common/log.h"
#include "common/util.h"

#define CLIENT_STEPS_MAX 16

void patterns_done(struct patterns *p)
{
        free(p->sections);
        free(p->clients);
        *p = (struct patterns){};
}

/* Takes what is in `pattern`. */
static int add(struct bench *b, struct patterns *p, struct bench_pattern *pattern, const struct profile_section *section,
               size_t clients)
{
        size_t n = b->n_patterns + 1;
        const struct profile_section **sections;
        struct bench_pattern *grown;
        size_t *counts;

        grown = reallocarray(b->patterns, n, sizeof(*grown));
        if (grown)
                b->patterns = grown;
        sections = reallocarray(p->sections, n, sizeof(*sections));
        if (sections)
                p->sections = sections;
        counts = reallocarray(p->clients, n, sizeof(*counts));
        if (counts)
                p->clients = counts;
        if (!grown || !sections || !counts)
                return -ENOMEM;
        sections[b->n_patterns] = section;
        counts[b->n_patterns] = clients;
        grown[b->n_patterns++] = *pattern;
        *pattern = (struct bench_pattern){};
        return 0;
}

static int add_copy(struct bench *b, struct patterns *p, const struct bench_pattern *pattern,
                    const struct profile_section *section, size_t clients)
{
        struct bench_pattern copied;
        int r = bench_pattern_copy(pattern, &copied);

        if (r < 0)
                return r;
        if (clients > 0) {
                char *name;

                copied.axis = (double) clients;
                if (asprintf(&name, "%s clients=%zu", copied.name, clients) < 0) {
                        bench_pattern_done(&copied);
                        return -ENOMEM;
                }
                free(copied.name);
                copied.name = name;
        }
        r = add(b, p, &copied, section, clients);
        if (r < 0)
                bench_pattern_done(&copied);
        return r;
}

static int told(int error)
{
        log_error("Cannot lay out what is to be measured: %s", strerror(-error));
        return UASD_EXIT_FAILED;
}

static int wrong_sweep(const char *sweep, int error, const char *word)
{
        int n = word ? (int) strcspn(word, ",") : 0;

        if (error == -ERANGE)
                log_error("--sweep=%s: '%.*s' is out of range: depth and jobs go from 1 to 32, a region begins at 1M.", sweep, n,
                          word);
        else if (error == -EEXIST)
                log_error("--sweep=%s: '%.*s' is there twice.", sweep, n, word);
        else
                log_error("--sweep=%s: it takes depth, jobs or region, and perhaps a list: depth=1,8,32.", sweep);
        return UASD_EXIT_USAGE;
}

static int no_room(const struct bench_options *o, const struct profile *profile, size_t i, bool listed)
{
        if (listed)
                log_error("--sweep=%s: there is not that much room for '%s'; smaller values, or more to read.", o->sweep,
                          profile->patterns[i].name);
        else
                log_error("There is no room for even the smallest region.");
        return UASD_EXIT_FAILED;
}

/* Patterns that differ in nothing but what is varied come to the same points. Index of the one that is there, or b->n_patterns.
 */
static int find_alike(const struct bench *b, const struct patterns *p, const struct bench_pattern *point,
                      const struct profile_section *section, const struct bench_options *o, uint64_t available, size_t *ret)
{
        const unsigned seconds = (unsigned) (o->runtime_usec / USEC_PER_SEC);
        const struct fio_job job = {.pattern = point, .section = section, .runtime_sec = seconds};

        for (*ret = 0; *ret < b->n_patterns; ++*ret) {
                const struct fio_job other = {
                        .pattern = &b->patterns[*ret], .section = p->sections[*ret], .runtime_sec = seconds};
                int k = point->axis == b->patterns[*ret].axis ? fio_jobs_alike(&job, &other, available) : 0;

                if (k != 0)
                        return k < 0 ? k : 0;
        }
        return 0;
}

/* Those that are not there yet. */
static int add_points(const struct profile *profile, size_t i, const struct bench_options *o, uint64_t available, struct sweep *s,
                      struct bench *b, struct patterns *p)
{
        const struct profile_section *section = &profile->sections[i];
        size_t left = 0;
        int k = 0;

        for (size_t n = 0; k >= 0 && n < s->n; n++) {
                size_t at;

                s->patterns[n].axis = (double) s->values[n];
                k = find_alike(b, p, &s->patterns[n], section, o, available, &at);
                if (k >= 0 && at < b->n_patterns)
                        left++;
                else if (k >= 0)
                        k = add(b, p, &s->patterns[n], section, 0);
        }
        if (k >= 0 && left > 0)
                log_info("%s: %zu of %zu points are the same as those of another pattern, and are left out.",
                         profile->patterns[i].name, left, s->n);
        return k;
}

static int add_sweep(const struct profile *profile, size_t i, const struct bench_options *o, uint64_t available, struct bench *b,
                     struct patterns *p)
{
        static const enum bench_axis axes[_SWEEP_MAX] = {
                [SWEEP_DEPTH] = BENCH_AXIS_DEPTH, [SWEEP_JOBS] = BENCH_AXIS_JOBS, [SWEEP_REGION] = BENCH_AXIS_REGION};
        struct sweep_question q;
        struct sweep s = {};
        const char *word;
        int k;

        k = sweep_parse(o->sweep, &q, &word);
        if (k < 0)
                return wrong_sweep(o->sweep, k, word);
        k = sweep_make(&profile->patterns[i], &q, available, &s);
        if (k == -EOPNOTSUPP) {
                log_info("%s: its engine does one thing at a time, so there is no depth to vary.", profile->patterns[i].name);
                return UASD_EXIT_OK;
        }
        if (k == -ENOSPC)
                return no_room(o, profile, i, q.n > 0);
        b->axis = axes[q.axis];
        if (k >= 0)
                k = add_points(profile, i, o, available, &s, b, p);
        sweep_done(&s);
        return k < 0 ? told(k) : UASD_EXIT_OK;
}

static int add_clients(const struct profile *profile, size_t i, size_t n_clients, struct bench *b, struct patterns *p)
{
        size_t counts[CLIENT_STEPS_MAX], n = clients_steps(n_clients, counts, CLIENT_STEPS_MAX);

        b->axis = BENCH_AXIS_CLIENTS;
        for (size_t at = 0; at < n; at++) {
                int k = add_copy(b, p, &profile->patterns[i], &profile->sections[i], counts[at]);

                if (k < 0)
                        return told(k);
        }
        return UASD_EXIT_OK;
}

static int add_pattern(const struct profile *profile, size_t i, const struct bench_options *o, uint64_t available,
                       size_t n_clients, struct bench *b, struct patterns *p)
{
        int k;

        if (o->sweep)
                return add_sweep(profile, i, o, available, b, p);
        if (n_clients > 0)
                return add_clients(profile, i, n_clients, b, p);
        k = add_copy(b, p, &profile->patterns[i], &profile->sections[i], 0);
        return k < 0 ? told(k) : UASD_EXIT_OK;
}

static bool has_pattern(const struct profile *profile, const char *name)
{
        for (size_t i = 0; i < profile->n_patterns; i++)
                if (strcasecmp(name, profile->patterns[i].name) == 0)
                        return true;
        return false;
}

static int nothing_left(const struct profile *profile, const struct bench_options *o)
{
        if (o->pattern && !has_pattern(profile, o->pattern)) {
                log_error("The profile '%s' has no pattern '%s'%s:", profile->name, o->pattern,
                          o->write || o->destroy_data ? "" : " that only reads");
                for (size_t i = 0; i < profile->n_patterns; i++)
                        log_error("  %s", profile->patterns[i].name);
        } else if (o->sweep)
                log_error("There is nothing to vary in the profile '%s' by --sweep=%s.", profile->name, o->sweep);
        else
                log_error("The profile '%s' only writes: --write with --file=DIRECTORY, or --destroy-data.", profile->name);
        return UASD_EXIT_USAGE;
}

int patterns_make(const struct profile *profile, const struct bench_options *o, uint64_t available, size_t n_clients,
                  struct bench *b, struct patterns *ret)
{
        b->profile = strdup(profile->name);
        if (!b->profile)
                return told(-ENOMEM);
        for (size_t i = 0; i < profile->n_patterns; i++) {
                int code;

                if (o->pattern && strcasecmp(o->pattern, profile->patterns[i].name) != 0)
                        continue;
                code = add_pattern(profile, i, o, available, n_clients, b, ret);
                if (code != UASD_EXIT_OK)
                        return code;
        }
        for (size_t i = 0; i < b->n_patterns && o->runtime_usec; i++) {
                b->patterns[i].runtime_sec = (unsigned) (o->runtime_usec / USEC_PER_SEC);
                b->patterns[i].time_based = true; /* as fio is told then */
        }
        return b->n_patterns > 0 ? UASD_EXIT_OK : nothing_left(profile, o);
}
