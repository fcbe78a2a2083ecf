/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/io/clock.h"

#include <time.h>

static uint64_t now_of(clockid_t clock)
{
        struct timespec ts;

        (void) clock_gettime(clock, &ts);
        return (uint64_t) ts.tv_sec * USEC_PER_SEC + (uint64_t) ts.tv_nsec / 1000;
}

uint64_t now_boottime(void)
{
        return now_of(CLOCK_BOOTTIME);
}

uint64_t now_realtime(void)
{
        return now_of(CLOCK_REALTIME);
}

uint64_t now_monotonic(void)
{
        return now_of(CLOCK_MONOTONIC);
}

struct awake now_awake(void)
{
        return (struct awake){now_monotonic()};
}

uint64_t now_and_asleep(uint64_t *ret_asleep)
{
        uint64_t awake = now_monotonic(), now = now_boottime();

        *ret_asleep = now - awake;
        return now;
}
