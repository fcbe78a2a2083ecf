/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/measure/steps.h"

#include <assert.h>

#include "common/util.h"

struct list {
        struct step *steps;
        size_t n;
};

static int add(struct list *l, const struct step *s)
{
        struct step *grown = reallocarray(l->steps, l->n + 1, sizeof(*grown));

        if (!grown)
                return -ENOMEM;
        l->steps = grown;
        grown[l->n++] = *s;
        return 0;
}

/* A pause stands between two runs, never at the end. */
static int add_run(struct list *l, const struct step *run)
{
        int r;

        if (l->n > 0 && l->steps[l->n - 1].kind == STEP_RUN) {
                r = add(l, &(struct step){.kind = STEP_PAUSE, .driver = run->driver});
                if (r < 0)
                        return r;
        }
        return add(l, run);
}

/* Rounds `from` up to `to`, and round 0 before them. */
static int add_block(struct list *l, const struct steps_shape *shape, enum driver driver, unsigned from, unsigned to)
{
        int r;

        for (unsigned pattern = 0; pattern < shape->n_patterns; pattern++) {
                r = add_run(l, &(struct step){STEP_RUN, driver, pattern, 0});
                for (unsigned round = from; r >= 0 && round <= to; round++)
                        r = add_run(l, &(struct step){STEP_RUN, driver, pattern, round});
                if (r < 0)
                        return r;
        }
        return 0;
}

static int add_switch(struct list *l, enum driver *now, enum driver to)
{
        if (*now == to)
                return 0;
        *now = to;
        return add(l, &(struct step){.kind = STEP_SWITCH, .driver = to});
}

static int make(const struct steps_shape *shape, struct list *l)
{
        unsigned half = shape->second == DRIVER_NONE ? shape->rounds : (shape->rounds + 1) / 2;
        enum driver now = shape->now;
        int r;

        r = add_switch(l, &now, shape->first);
        if (r >= 0 && shape->read_all)
                r = add(l, &(struct step){.kind = STEP_READ_ALL, .driver = shape->first});
        if (r >= 0)
                r = add_block(l, shape, shape->first, 1, half);
        if (r < 0 || shape->second == DRIVER_NONE)
                return r;
        r = add_switch(l, &now, shape->second);
        if (r >= 0)
                r = add_block(l, shape, shape->second, 1, shape->rounds);
        if (r < 0 || half == shape->rounds) /* one round alone has no second half */
                return r;
        r = add_switch(l, &now, shape->first);
        return r < 0 ? r : add_block(l, shape, shape->first, half + 1, shape->rounds);
}

int steps_make(const struct steps_shape *shape, struct step **ret, size_t *ret_n)
{
        struct list l = {};
        int r;

        assert(shape->first != DRIVER_NONE || shape->second == DRIVER_NONE);
        assert(shape->second == DRIVER_NONE || shape->first != shape->second);
        r = make(shape, &l);
        if (r < 0) {
                free(l.steps);
                return r;
        }
        *ret = l.steps;
        *ret_n = l.n;
        return 0;
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
