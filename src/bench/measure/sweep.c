/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/measure/sweep.h"

#include "bench/measure/fio.h"
#include "bench/measure/profile.h"

#define MIB (1ULL << 20)

/* The values of the study behind the profile cdm. */
static const struct sweep usual[_BENCH_AXIS_MAX] = {
        [BENCH_AXIS_DEPTH] = {BENCH_AXIS_DEPTH, {1, 2, 4, 8, 16, 32}, 6},
        [BENCH_AXIS_JOBS] = {BENCH_AXIS_JOBS, {1, 2, 4, 8, 16, 32}, 6},
        [BENCH_AXIS_REGION] = {BENCH_AXIS_REGION,
                               {256 * MIB, 512 * MIB, 1024 * MIB, 3072 * MIB, 5120 * MIB, 8192 * MIB, 10240 * MIB},
                               7},
        [BENCH_AXIS_RUNTIME] = {BENCH_AXIS_RUNTIME, {5, 10, 20}, 3},
        [BENCH_AXIS_RAMP] = {BENCH_AXIS_RAMP, {0, 5, 10}, 3},
};

static const struct {
        uint64_t min, max;
} limits[_BENCH_AXIS_MAX] = {
        [BENCH_AXIS_DEPTH] = {1, 32},     [BENCH_AXIS_JOBS] = {1, 32},   [BENCH_AXIS_REGION] = {MIB, UINT64_MAX},
        [BENCH_AXIS_RUNTIME] = {1, 3600}, [BENCH_AXIS_RAMP] = {0, 3600},
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
        return r < 0 ? r : *ret < limits[axis].min || *ret > limits[axis].max ? -ERANGE : 0;
}

/* Inserts the value in its place. */
static int insert(struct sweep *s, uint64_t value)
{
        size_t at = s->n;

        if (s->n == SWEEP_VALUES_MAX)
                return -EINVAL;
        for (size_t i = 0; i < s->n; i++)
                if (s->values[i] == value)
                        return -EEXIST;
        for (; at > 0 && s->values[at - 1] > value; at--)
                s->values[at] = s->values[at - 1];
        s->values[at] = value;
        s->n++;
        return 0;
}

int sweep_parse(const char *s, struct sweep *ret, const char **ret_word)
{
        size_t n = strcspn(s, "=");
        struct sweep sweep = {};

        *ret_word = NULL;
        for (enum bench_axis axis = BENCH_AXIS_DEPTH; axis < BENCH_AXIS_CLIENTS; axis++)
                if (strncmp(s, bench_axis_to_string(axis), n) == 0 && strlen(bench_axis_to_string(axis)) == n)
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
        *ret = sweep.listed ? sweep : usual[sweep.axis];
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
        const char *unit = axis != BENCH_AXIS_REGION || value % MIB ? "" : value % (1024 * MIB) ? "M" : "G";
        size_t used = strlen(p->name);

        p->axis = (double) value;
        (void) snprintf(p->name + used, sizeof(p->name) - used, " %s=%llu%s", bench_axis_to_string(axis),
                        value / (*unit == 'M'   ? MIB
                                 : *unit == 'G' ? 1024 * MIB
                                                : 1),
                        unit);
        switch (axis) {
        case BENCH_AXIS_DEPTH:
                p->iodepth = (unsigned) value;
                break;
        case BENCH_AXIS_JOBS:
                p->numjobs = (unsigned) value;
                p->size = region / p->numjobs;
                break;
        case BENCH_AXIS_REGION:
                p->size = region / p->numjobs;
                break;
        case BENCH_AXIS_RUNTIME:
                p->runtime_sec = (unsigned) value;
                p->time_based = true;
                break;
        case BENCH_AXIS_RAMP:
                p->ramp_sec = (unsigned) value;
                break;
        case BENCH_AXIS_NONE:
        case BENCH_AXIS_CLIENTS: /* all points have the same job, and none of them needs more room */
        case _BENCH_AXIS_MAX:
                return 0;
        }
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
