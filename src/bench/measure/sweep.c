/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/measure/sweep.h"

#include <inttypes.h>

#include "bench/measure/fio.h"
#include "bench/measure/profile.h"
#include "common/util.h"

#define MIB (1ULL << 20)
#define COUNT_MAX 32

static const char *const names[_SWEEP_MAX] = {
        [SWEEP_DEPTH] = "depth",
        [SWEEP_JOBS] = "jobs",
        [SWEEP_REGION] = "region",
};

/* Those of the study behind the profile cdm. */
static const uint64_t counts[] = {1, 2, 4, 8, 16, 32};
static const uint64_t regions[] = {256 * MIB, 512 * MIB, 1024 * MIB, 3072 * MIB, 5120 * MIB, 8192 * MIB, 10240 * MIB};

const char *sweep_to_string(enum sweep_axis axis)
{
        return names[axis];
}

int sweep_from_string(const char *s)
{
        for (int i = 0; i < _SWEEP_MAX; i++)
                if (streq(names[i], s))
                        return i;
        return -EINVAL;
}

static int parse_value(enum sweep_axis axis, const char *word, size_t n, uint64_t *ret)
{
        unsigned long long count;
        char text[24];
        int r;

        if (n == 0 || n >= sizeof(text))
                return -EINVAL;
        memcpy(text, word, n);
        text[n] = '\0';
        if (axis == SWEEP_REGION) {
                r = profile_size(text, ret);
                return r < 0 ? r : *ret < MIB ? -ERANGE : 0;
        }
        r = parse_uint(text, 10, UINT64_MAX, &count);
        *ret = count;
        return r < 0 ? r : count == 0 || count > COUNT_MAX ? -ERANGE : 0;
}

/* Where it has its place. */
static int insert(struct sweep_question *q, uint64_t value)
{
        size_t at = q->n;

        if (q->n == SWEEP_VALUES_MAX)
                return -EINVAL;
        for (size_t i = 0; i < q->n; i++)
                if (q->values[i] == value)
                        return -EEXIST;
        for (; at > 0 && q->values[at - 1] > value; at--)
                q->values[at] = q->values[at - 1];
        q->values[at] = value;
        q->n++;
        return 0;
}

int sweep_parse(const char *s, struct sweep_question *ret, const char **ret_word)
{
        struct sweep_question q = {};
        size_t n = strcspn(s, "=");
        char axis[16];
        int r;

        *ret_word = NULL;
        if (n >= sizeof(axis))
                return -EINVAL;
        memcpy(axis, s, n);
        axis[n] = '\0';
        r = sweep_from_string(axis);
        if (r < 0)
                return r;
        q.axis = (enum sweep_axis) r;
        for (const char *word = s + n; *word; word += n) {
                uint64_t value;

                word++; /* "=" or "," */
                n = strcspn(word, ",");
                r = parse_value(q.axis, word, n, &value);
                if (r >= 0)
                        r = insert(&q, value);
                if (r < 0) {
                        *ret_word = word;
                        return r;
                }
        }
        *ret = q;
        return 0;
}

void sweep_done(struct sweep *s)
{
        for (size_t i = 0; i < s->n; i++)
                bench_pattern_done(&s->patterns[i]);
        free(s->patterns);
        free(s->values);
        *s = (struct sweep){};
}

/* "256M", "5G": as fio has them, and never two alike. */
static int make_name(const char *base, enum sweep_axis axis, uint64_t value, char **ret)
{
        const char *unit = axis != SWEEP_REGION || value % MIB ? "" : value % (1024 * MIB) ? "M" : "G";

        value /= *unit == 'M' ? MIB : *unit == 'G' ? 1024 * MIB : 1;
        return asprintf(ret, "%s %s=%" PRIu64 "%s", base, names[axis], value, unit) < 0 ? -ENOMEM : 0;
}

/* What is not asked about stays as it is: jobs share out the region that one has. 0, -ENOMEM or -ENOSPC. */
static int vary(const struct bench_pattern *base, enum sweep_axis axis, uint64_t value, uint64_t available,
                struct bench_pattern *ret)
{
        struct bench_pattern p = {};
        uint64_t region = axis == SWEEP_REGION ? value : fio_region(base, available);
        char *name = NULL;
        int r;

        if (region > available)
                return -ENOSPC;
        r = bench_pattern_copy(base, &p);
        if (r >= 0)
                r = make_name(base->name, axis, value, &name);
        if (r < 0) {
                bench_pattern_done(&p);
                return r;
        }
        free(p.name);
        p.name = name;
        if (axis == SWEEP_DEPTH)
                p.iodepth = (unsigned) value;
        if (axis == SWEEP_JOBS)
                p.numjobs = (unsigned) value;
        if (axis != SWEEP_DEPTH)
                p.size = region / p.numjobs;
        if (p.size ? p.size < p.block_size : region < p.block_size) {
                bench_pattern_done(&p);
                return -ENOSPC;
        }
        *ret = p;
        return 0;
}

static int fill(struct sweep *s, const struct bench_pattern *base, const struct sweep_question *q, uint64_t available)
{
        const uint64_t *values = q->n > 0 ? q->values : q->axis == SWEEP_REGION ? regions : counts;
        size_t n = q->n > 0 ? q->n : q->axis == SWEEP_REGION ? ELEMENTSOF(regions) : ELEMENTSOF(counts);

        s->patterns = calloc(n, sizeof(*s->patterns));
        s->values = calloc(n, sizeof(*s->values));
        if (!s->patterns || !s->values)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                int r = vary(base, s->axis, values[i], available, &s->patterns[s->n]);

                if (r == -ENOSPC && q->n == 0)
                        break;
                if (r < 0)
                        return r;
                s->values[s->n++] = values[i];
        }
        return s->n == 0 ? -ENOSPC : 0;
}

int sweep_make(const struct bench_pattern *base, const struct sweep_question *q, uint64_t available, struct sweep *ret)
{
        struct sweep s = {.axis = q->axis};
        int r;

        /* Whatever iodepth= says, the engine waits for each: a flat line would be taken for a finding. */
        if (q->axis == SWEEP_DEPTH && base->sync_engine)
                return -EOPNOTSUPP;
        r = fill(&s, base, q, available);
        if (r < 0)
                sweep_done(&s);
        else
                *ret = s;
        return r;
}
