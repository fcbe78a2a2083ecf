/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/types.h"

/*
 * The steps of a bench, in an array that is made before it begins. A dry run prints the same steps.
 *
 * Two drivers are compared in the order A B B A: A has half of its rounds before B and half after. So a drift (heat, caches,
 * other load) affects both in the same way. The two blocks of B are adjacent, and need no switch between them.
 *
 * Within a block, each pattern has all of its rounds in sequence, because alternating patterns vary more. The first round of
 * every pattern in a block is round 0. It does not count, because the disk did something else before.
 */
enum step_kind {
        STEP_SWITCH,   /* to step.driver */
        STEP_READ_ALL, /* the region once, before the rounds that count */
        STEP_RUN,
        STEP_PAUSE,
        _STEP_KIND_MAX,
};

struct step {
        enum step_kind kind;
        enum driver driver;      /* driver of the step; STEP_SWITCH: target */
        unsigned pattern, round; /* of STEP_RUN */
        uint64_t usec;           /* expected duration */
};

struct steps_shape {
        enum driver now;           /* present driver */
        enum driver first, second; /* A and B; second: DRIVER_NONE for only one driver */
        unsigned n_patterns;
        unsigned rounds; /* that count */
        bool read_all;
        bool read_again; /* also after each switch */
};

/* A list to be freed. The caller sets the durations. */
struct step *steps_make(const struct steps_shape *shape, size_t *ret_n);

/*
 * The next step from `at` on, or n. ended: drivers whose half has ended early. Their runs, and the switches to them, are skipped.
 */
size_t steps_next(const struct step *steps, size_t n, size_t at, const bool ended[static _DRIVER_MAX]);

/* Expected duration of the steps from `at` on. */
uint64_t steps_usec(const struct step *steps, size_t n, size_t at, const bool ended[static _DRIVER_MAX]);
