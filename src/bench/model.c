/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdarg.h>

#include "bench/fields.h"
#include "common/util.h"

void bench_pattern_done(struct bench_pattern *p)
{
        fields_free(pattern_fields, p);
        *p = (struct bench_pattern){};
}

void bench_run_done(struct bench_run *r)
{
        fields_free(run_fields, r);
        *r = (struct bench_run){};
}

void bench_done(struct bench *b)
{
        for (size_t i = 0; i < b->n_patterns; i++)
                bench_pattern_done(&b->patterns[i]);
        for (size_t i = 0; i < b->n_runs; i++)
                bench_run_done(&b->runs[i]);
        fields_free(conditions_fields, &b->conditions);
        for (enum driver d = 0; d < _DRIVER_MAX; d++)
                fields_free(queue_fields, &b->conditions.queues[d]);
        free(b->patterns);
        free(b->runs);
        fields_free(bench_fields, b);
        fields_free(finding_fields, &b->finding);
        *b = (struct bench){};
}

/* A copy of what may be NULL. */
static int copy(char **ret, const char *s)
{
        *ret = s ? strdup(s) : NULL;
        return s && !*ret ? -ENOMEM : 0;
}

int bench_pattern_copy(const struct bench_pattern *p, struct bench_pattern *ret)
{
        struct bench_pattern c = *p;

        c.name = c.rw = c.engine = NULL;
        if (copy(&c.name, p->name) < 0 || copy(&c.rw, p->rw) < 0 || copy(&c.engine, p->engine) < 0) {
                bench_pattern_done(&c);
                return -ENOMEM;
        }
        *ret = c;
        return 0;
}

bool bench_pattern_writes(const struct bench_pattern *p)
{
        return p->read_percent < 100;
}

double bench_with_ramp(const struct bench_pattern *p, const struct bench_run *r)
{
        return r->runtime_usec > 0 ? 1 + (double) p->ramp_sec * USEC_PER_SEC / (double) r->runtime_usec : 1;
}

void text_add(char *ret, size_t size, const char *format, ...)
{
        size_t used = strlen(ret);
        va_list ap;

        va_start(ap, format);
        (void) vsnprintf(ret + used, size - used, format, ap);
        va_end(ap);
}
