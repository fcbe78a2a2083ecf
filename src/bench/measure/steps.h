/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/types.h"

/*
 * What a bench does, as an array made before it begins: what is shown as a dry run is what is run.
 *
 * Two drivers are compared in the order A B B A: A has half of its rounds before B and half after, so that
 * whatever drifts (heat, caches, other load) does so for both. The two blocks of B meet: no switch is needed
 * between them.
 *
 * Within a block one pattern after the other, each with all of its rounds: patterns taken in turn scatter more.
 * The first round of every pattern in a block is round 0, which does not count: the disk was at something else
 * before.
 */
enum step_kind {
        STEP_SWITCH,   /* to step.driver */
        STEP_READ_ALL, /* the region once, before anything counts */
        STEP_RUN,
        STEP_PAUSE,
        _STEP_KIND_MAX,
};

struct step {
        enum step_kind kind;
        enum driver driver;      /* under which it is done; of STEP_SWITCH: to which */
        unsigned pattern, round; /* of STEP_RUN */
};

struct steps_shape {
        enum driver now;           /* that the disk is on */
        enum driver first, second; /* A and B; second: DRIVER_NONE for one driver alone */
        unsigned n_patterns;
        unsigned rounds; /* that count */
        bool read_all;
};

/* A list to be freed. */
struct step *steps_make(const struct steps_shape *shape, size_t *ret_n);

/*
 * The first step from `at` on that is still to be done, or n. ended: drivers whose half is over before its
 * time: nothing is run under them any more, and nothing switched to them.
 */
size_t steps_next(const struct step *steps, size_t n, size_t at, const bool ended[static _DRIVER_MAX]);

struct steps_costs {
        uint64_t usec[_STEP_KIND_MAX]; /* of each kind but STEP_RUN */
        const uint64_t *run_usec;      /* by pattern */
};
/* What the steps from `at` on will take. */
uint64_t steps_usec(const struct step *steps, size_t n, size_t at, const bool ended[static _DRIVER_MAX],
                    const struct steps_costs *costs);
