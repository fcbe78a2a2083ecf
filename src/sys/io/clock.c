/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/io/clock.h"

#include <time.h>

static usec_t clock_now(clockid_t clock)
{
        struct timespec ts;

        (void) clock_gettime(clock, &ts);
        return (uint64_t) ts.tv_sec * USEC_PER_SEC + (uint64_t) ts.tv_nsec / 1000;
}

usec_t now_boottime(void)
{
        return clock_now(CLOCK_BOOTTIME);
}

usec_t now_monotonic(void)
{
        return clock_now(CLOCK_MONOTONIC);
}

usec_t boottime_to_realtime(usec_t moment)
{
        if (moment == 0)
                return 0;
        return clock_now(CLOCK_REALTIME) + moment - now_boottime();
}

struct awake now_awake(void)
{
        return (struct awake){now_monotonic()};
}

usec_t now_and_asleep(usec_t *ret_asleep)
{
        usec_t awake = now_monotonic(), now = now_boottime();

        *ret_asleep = now - awake;
        return now;
}
