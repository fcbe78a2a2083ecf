/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/measure/profile.h"

#include <inttypes.h>
#include <strings.h>

#include "bench/measure/fio.h"
#include "common/exit-codes.h"
#include "common/log.h"
#include "common/util.h"
#include "term/terminal.h"

#define MIB (1ULL << 20)
#define GIB (1ULL << 30)

#define AT(m) offsetof(struct bench_pattern, m)

/* The values of the study behind the profile cdm, and the limits for others. */
static const struct {
        uint64_t min, max;
        size_t member; /* of struct bench_pattern: an unsigned that gets the value */
        size_t n;
        uint64_t usual[8];
} axes[_BENCH_AXIS_MAX] = {
        [BENCH_AXIS_DEPTH] = {1, 32, AT(iodepth), 6, {1, 2, 4, 8, 16, 32}},
        [BENCH_AXIS_JOBS] = {1, 32, AT(numjobs), 6, {1, 2, 4, 8, 16, 32}},
        [BENCH_AXIS_REGION] = {MIB, UINT64_MAX, 0, 7, {256 * MIB, 512 * MIB, GIB, 3 * GIB, 5 * GIB, 8 * GIB, 10 * GIB}},
        [BENCH_AXIS_RUNTIME] = {1, 3600, AT(runtime_sec), 3, {5, 10, 20}},
        [BENCH_AXIS_RAMP] = {0, 3600, AT(ramp_sec), 3, {0, 5, 10}},
};

static int parse_value(enum bench_axis axis, const char *word, size_t n, uint64_t *ret)
{
        unsigned long long count;
        char text[24] = "";
        int r;

        if (n >= sizeof(text))
                return -EINVAL;
        memcpy(text, word, n);
        if (axis == BENCH_AXIS_REGION)
                r = profile_size(text, ret);
        else {
                r = parse_uint(text, 10, UINT64_MAX, &count);
                *ret = count;
        }
        return r < 0 ? r : *ret < axes[axis].min || *ret > axes[axis].max ? -ERANGE : 0;
}

/* Inserts the value in its place. */
static int insert(struct sweep *s, uint64_t value)
{
        size_t at = s->n;

        if (s->n == SWEEP_VALUES_MAX)
                return -EINVAL;
        while (at > 0 && s->values[at - 1] > value)
                at--;
        if (at > 0 && s->values[at - 1] == value)
                return -EEXIST;
        memmove(s->values + at + 1, s->values + at, (s->n++ - at) * sizeof(*s->values));
        s->values[at] = value;
        return 0;
}

int sweep_parse(const char *s, struct sweep *ret, const char **ret_word)
{
        size_t n = strcspn(s, "=");
        struct sweep sweep = {};

        *ret_word = NULL;
        for (enum bench_axis axis = BENCH_AXIS_DEPTH; axis < BENCH_AXIS_CLIENTS; axis++)
                if (strncmp(s, bench_axes[axis], n) == 0 && strlen(bench_axes[axis]) == n)
                        sweep.axis = axis;
        if (sweep.axis == BENCH_AXIS_NONE)
                return -EINVAL;
        for (const char *word = s + n; *word; word += n) {
                uint64_t value;
                int r;

                word++; /* "=" or "," */
                n = strcspn(word, ",");
                r = parse_value(sweep.axis, word, n, &value);
                if (r >= 0)
                        r = insert(&sweep, value);
                if (r < 0) {
                        *ret_word = word;
                        return r;
                }
        }
        sweep.listed = sweep.n > 0;
        for (size_t i = 0; !sweep.listed && i < axes[sweep.axis].n; i++)
                sweep.values[sweep.n++] = axes[sweep.axis].usual[i];
        *ret = sweep;
        return 0;
}

struct sweep sweep_clients(size_t n)
{
        struct sweep s = {.axis = n > 0 ? BENCH_AXIS_CLIENTS : BENCH_AXIS_NONE};

        for (size_t step = 1; step < n; step *= 2)
                s.values[s.n++] = step;
        s.values[s.n++] = n;
        return s;
}

/* The other figures stay as they are: more jobs share the region of one. 0 or -ENOSPC. */
static int vary(struct bench_pattern *p, enum bench_axis axis, uint64_t value, uint64_t available)
{
        uint64_t region = axis == BENCH_AXIS_REGION ? value : fio_region(p, available);
        uint64_t unit = axis != BENCH_AXIS_REGION || value % MIB > 0 ? 1 : value % GIB > 0 ? MIB : GIB;

        p->axis = (double) value;
        text_add(p->name, sizeof(p->name), " %s=%" PRIu64 "%s", bench_axes[axis], value / unit,
                 unit == GIB   ? "G"
                 : unit == MIB ? "M"
                               : "");
        if (axis == BENCH_AXIS_CLIENTS) /* all points have the same job, and none of them needs more room */
                return 0;
        if (axes[axis].member > 0)
                *(unsigned *) ((char *) p + axes[axis].member) = (unsigned) value;
        if (axis == BENCH_AXIS_JOBS || axis == BENCH_AXIS_REGION)
                p->size = region / p->numjobs;
        p->time_based = p->time_based || axis == BENCH_AXIS_RUNTIME;
        return region > available || (p->size ? p->size < p->block_size : region < p->block_size) ? -ENOSPC : 0;
}

int sweep_make(const struct bench_pattern *base, const struct sweep *s, uint64_t available,
               struct bench_pattern ret[static SWEEP_VALUES_MAX])
{
        int n = 0;

        /* The engine waits for each request, whatever iodepth= is: a flat line would look like a finding. */
        if (s->axis == BENCH_AXIS_DEPTH && base->sync_engine)
                return -EOPNOTSUPP;
        for (size_t i = 0; i < s->n; i++) {
                ret[n] = *base;
                if (s->axis == BENCH_AXIS_NONE || vary(&ret[n], s->axis, s->values[i], available) == 0)
                        n++;
                else
                        return s->listed || n == 0 ? -ENOSPC : n;
        }
        return n;
}

/* ---- the patterns of a measurement ---- */

static int wrong_sweep(const char *sweep, int error, const char *word)
{
        int n = word ? (int) strcspn(word, ",") : 0;

        if (error == -ERANGE)
                return log_failure(
                        UASD_EXIT_USAGE,
                        "--sweep=%s: '%.*s' is out of range: depth and jobs go from 1 to 32, a region begins at 1M, runtime goes "
                        "from 1 to 3600 s, ramp from 0.",
                        sweep, n, word);
        if (error == -EEXIST)
                return log_failure(UASD_EXIT_USAGE, "--sweep=%s: '%.*s' occurs twice.", sweep, n, word);
        return log_failure(UASD_EXIT_USAGE,
                           "--sweep=%s: it takes depth, jobs, region, runtime or ramp, and perhaps a list: depth=1,8,32.", sweep);
}

/* Whether a point with the same job file exists. Patterns that differ only in the varied figure lead to the same points. */
static bool is_there(const struct bench *b, const struct bench_pattern *p, uint64_t available)
{
        _cleanup_free_ char *text = fio_job_text(&(struct fio_job){.pattern = p}, "", fio_region_each(p, available));
        bool found = false;

        for (size_t i = 0; i < b->n_patterns && !found; i++) {
                const struct bench_pattern *q = &b->patterns[i];
                _cleanup_free_ char *other = fio_job_text(&(struct fio_job){.pattern = q}, "", fio_region_each(q, available));

                found = streq(other, text) && q->axis == p->axis;
        }
        return found;
}

static int add_pattern(struct bench_pattern base, const struct bench_options *o, uint64_t available, const struct sweep *s,
                       struct bench *b)
{
        struct bench_pattern points[SWEEP_VALUES_MAX];
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
                if (!s->listed)
                        return log_failure(UASD_EXIT_FAILED, "The smallest region does not fit.");
                return log_failure(UASD_EXIT_FAILED, "--sweep=%s: too little room for '%s'. Use smaller values or a larger file.",
                                   o->sweep, base.name);
        }
        for (int k = 0; k < n; k++)
                if (o->sweep && is_there(b, &points[k], available))
                        left++;
                else
                        b->patterns[b->n_patterns++] = points[k];
        if (left > 0)
                log_info("%s: %i of %i points are the same as those of another pattern, and are left out.", base.name, left, n);
        return UASD_EXIT_OK;
}

bool pattern_is_asked_for(const struct bench_options *o, const struct bench_pattern *p)
{
        return !o->pattern || strcasecmp(o->pattern, p->name) == 0;
}

/* found: a pattern was asked for. */
static int nothing_left(const struct profile *profile, const struct bench_options *o, bool found)
{
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
                  struct bench *b)
{
        struct sweep s = sweep_clients(n_clients);
        bool found = false;
        const char *word;
        int r;

        if (o->sweep && (r = sweep_parse(o->sweep, &s, &word)) < 0)
                return wrong_sweep(o->sweep, r, word);
        b->axis = s.axis;
        (void) copy_string(b->profile, sizeof(b->profile), profile->name);
        b->patterns = need(calloc(profile->n_patterns * s.n + 1, sizeof(*b->patterns)));
        for (size_t i = 0; i < profile->n_patterns; i++) {
                if (!pattern_is_asked_for(o, &profile->patterns[i]))
                        continue;
                found = true;
                r = add_pattern(profile->patterns[i], o, available, &s, b);
                if (r != UASD_EXIT_OK)
                        return r;
        }
        return b->n_patterns > 0 ? UASD_EXIT_OK : nothing_left(profile, o, found);
}
