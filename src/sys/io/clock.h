/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "common/util.h"

usec_t now_boottime(void); /* usec */

/*
 * A moment on the clock that stands still while the machine sleeps (CLOCK_MONOTONIC). Budgets end
 * at such a moment: a disk is not late because the lid was closed. A hold ends on CLOCK_BOOTTIME.
 * The type keeps the two apart.
 */
struct awake {
        usec_t usec;
};

struct awake now_awake(void);

static inline struct awake awake_in(usec_t usec)
{
        return (struct awake){now_awake().usec + usec};
}

/* Returns the time until `end`, usec; 0: it has passed. */
static inline usec_t awake_left(struct awake end)
{
        usec_t now = now_awake().usec;

        return now < end.usec ? end.usec - now : 0;
}

/* Returns the time since `begin`, usec. */
static inline usec_t awake_since(struct awake begin)
{
        return now_awake().usec - begin.usec;
}

/* The time of day (CLOCK_REALTIME, usec) of a moment of now_boottime(), by the present clock; 0: 0.
 */
usec_t boottime_to_realtime(usec_t moment);
usec_t now_monotonic(void); /* usec; the clock of udev, PID 1 and the kernel log */
/* Returns now_boottime(), and how long the machine has slept until now. The time between the two
 * readings counts as sleep. */
usec_t now_and_asleep(usec_t *ret_asleep);
