/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/measure/steps.h"

#include <assert.h>

#include "common/util.h"
#include "term/program.h"

struct list {
        struct step *steps;
        size_t n;
};

static void add(struct list *l, const struct step *s)
{
        l->steps = need(reallocarray(l->steps, l->n + 1, sizeof(*l->steps)));
        l->steps[l->n++] = *s;
}

/* A pause separates two runs. There is none at the end. */
static void add_run(struct list *l, const struct step *run)
{
        if (l->n > 0 && l->steps[l->n - 1].kind == STEP_RUN)
                add(l, &(struct step){.kind = STEP_PAUSE, .driver = run->driver});
        add(l, run);
}

/* Round 0, then the rounds from `from` up to `to`. */
static void add_block(struct list *l, const struct steps_shape *shape, enum driver driver, unsigned from, unsigned to)
{
        for (unsigned pattern = 0; pattern < shape->n_patterns; pattern++) {
                add_run(l, &(struct step){STEP_RUN, driver, pattern, 0});
                for (unsigned round = from; round <= to; round++)
                        add_run(l, &(struct step){STEP_RUN, driver, pattern, round});
        }
}

static void add_switch(struct list *l, const struct steps_shape *shape, enum driver to)
{
        add(l, &(struct step){.kind = STEP_SWITCH, .driver = to});
        if (shape->read_again)
                add(l, &(struct step){.kind = STEP_READ_ALL, .driver = to});
}

struct step *steps_make(const struct steps_shape *shape, size_t *ret_n)
{
        unsigned half = shape->second == DRIVER_NONE ? shape->rounds : (shape->rounds + 1) / 2;
        struct list l = {};

        assert(shape->first != DRIVER_NONE || shape->second == DRIVER_NONE);
        assert(shape->second == DRIVER_NONE || shape->first != shape->second);
        if (shape->now != shape->first)
                add(&l, &(struct step){.kind = STEP_SWITCH, .driver = shape->first});
        if (shape->read_all)
                add(&l, &(struct step){.kind = STEP_READ_ALL, .driver = shape->first});
        add_block(&l, shape, shape->first, 1, half);
        if (shape->second != DRIVER_NONE) {
                add_switch(&l, shape, shape->second);
                add_block(&l, shape, shape->second, 1, shape->rounds);
        }
        if (half < shape->rounds) { /* a single round has no second half */
                add_switch(&l, shape, shape->first);
                add_block(&l, shape, shape->first, half + 1, shape->rounds);
        }
        *ret_n = l.n;
        return l.steps;
}

size_t steps_next(const struct step *steps, size_t n, size_t at, const bool ended[static _DRIVER_MAX])
{
        while (at < n && ended[steps[at].driver])
                at++;
        return at;
}

uint64_t steps_usec(const struct step *steps, size_t n, size_t at, const bool ended[static _DRIVER_MAX],
                    const struct steps_costs *costs)
{
        uint64_t sum = 0;

        for (size_t i = steps_next(steps, n, at, ended); i < n; i = steps_next(steps, n, i + 1, ended))
                sum += steps[i].kind == STEP_RUN ? costs->run_usec[steps[i].pattern] : costs->usec[steps[i].kind];
        return sum;
}
