/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/util.h"
#include "ctl/bench/bench.h"

void bench_pattern_done(struct bench_pattern *p)
{
        free(p->name);
        free(p->rw);
        free(p->engine);
        *p = (struct bench_pattern){};
}

void bench_run_done(struct bench_run *r)
{
        free(r->host);
        *r = (struct bench_run){};
}

static void conditions_done(struct bench_conditions *c)
{
        free(c->model);
        free(c->bridge);
        free(c->firmware);
        free(c->serial);
        free(c->controller);
        free(c->kernel);
        free(c->fio);
        for (size_t i = 0; i < ELEMENTSOF(c->scheduler); i++)
                free(c->scheduler[i]);
        free(c->path);
}

void bench_done(struct bench *b)
{
        for (size_t i = 0; i < b->n_patterns; i++)
                bench_pattern_done(&b->patterns[i]);
        for (size_t i = 0; i < b->n_runs; i++)
                bench_run_done(&b->runs[i]);
        conditions_done(&b->conditions);
        free(b->patterns);
        free(b->runs);
        free(b->profile);
        free(b->finding.what);
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
