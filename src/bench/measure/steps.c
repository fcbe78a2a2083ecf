/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/measure/steps.h"

#include <assert.h>

#include "common/util.h"
#include "term/program.h"

struct list {
        struct step *steps;
        size_t n;
};

static void add(struct list *l, enum step_kind kind, enum driver driver, unsigned pattern, unsigned round)
{
        /* A pause separates two runs. There is none at the end. */
        if (kind == STEP_RUN && l->n > 0 && l->steps[l->n - 1].kind == STEP_RUN)
                add(l, STEP_PAUSE, driver, 0, 0);
        l->steps = need(reallocarray(l->steps, l->n + 1, sizeof(*l->steps)));
        l->steps[l->n++] = (struct step){kind, driver, pattern, round, 0};
}

/* Round 0, then the rounds from `from` up to `to`. */
static void add_block(struct list *l, const struct steps_shape *shape, enum driver driver, unsigned from, unsigned to)
{
        for (unsigned pattern = 0; pattern < shape->n_patterns; pattern++) {
                add(l, STEP_RUN, driver, pattern, 0);
                for (unsigned round = from; round <= to; round++)
                        add(l, STEP_RUN, driver, pattern, round);
        }
}

static void add_switch(struct list *l, const struct steps_shape *shape, enum driver to)
{
        add(l, STEP_SWITCH, to, 0, 0);
        if (shape->read_again)
                add(l, STEP_READ_ALL, to, 0, 0);
}

struct step *steps_make(const struct steps_shape *shape, size_t *ret_n)
{
        unsigned half = shape->second == DRIVER_NONE ? shape->rounds : (shape->rounds + 1) / 2;
        struct list l = {};

        assert(shape->first != DRIVER_NONE || shape->second == DRIVER_NONE);
        assert(shape->second == DRIVER_NONE || shape->first != shape->second);
        if (shape->now != shape->first)
                add(&l, STEP_SWITCH, shape->first, 0, 0);
        if (shape->read_all)
                add(&l, STEP_READ_ALL, shape->first, 0, 0);
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

uint64_t steps_usec(const struct step *steps, size_t n, size_t at, const bool ended[static _DRIVER_MAX])
{
        uint64_t sum = 0;

        for (size_t i = steps_next(steps, n, at, ended); i < n; i = steps_next(steps, n, i + 1, ended))
                sum += steps[i].usec;
        return sum;
}
