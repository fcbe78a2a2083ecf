/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>
#include <systemd/sd-daemon.h>

#include "common/util.h"
#include "daemon/watchdog.h"
#include "sys/io/clock.h"

/* The event loop, and PID 1's watchdog over it (WatchdogSec= in uasd.service). */

/* Time after the last event. Then uasd is at rest: it waits in epoll_wait(), where it cannot hang. */
#define REST_USEC USEC_PER_SEC

struct watchdog {
        usec_t period_usec; /* WatchdogSec=; 0: PID 1 does not watch */
        usec_t told_at;     /* CLOCK_MONOTONIC in usec of the last message; 0: the message said that uasd is at rest */
};

/* Called before an event is handled. If that takes longer than the period, PID 1 ends uasd and starts another one. */
static void watchdog_work(struct watchdog *w)
{
        usec_t now = now_monotonic();

        if (w->period_usec == 0 || (w->told_at > 0 && now - w->told_at < w->period_usec / 4))
                return;
        (void) sd_notifyf(0, "WATCHDOG_USEC=%" PRIu64 "\nWATCHDOG=1", w->period_usec);
        w->told_at = now;
}

static void watchdog_rest(struct watchdog *w)
{
        (void) sd_notify(0, "WATCHDOG_USEC=0");
        w->told_at = 0;
}

int watchdog_loop(sd_event *event)
{
        struct watchdog w = {.told_at = now_monotonic()}; /* PID 1 watches from READY=1 on */
        int r = sd_watchdog_enabled(true, &w.period_usec);

        if (r <= 0)
                w = (struct watchdog){0};
        while (sd_event_get_state(event) != SD_EVENT_FINISHED) {
                r = sd_event_prepare(event);
                if (r == 0)
                        r = sd_event_wait(event, w.told_at > 0 ? REST_USEC : UINT64_MAX);
                if (r == 0 && w.told_at > 0)
                        watchdog_rest(&w);
                if (r > 0) {
                        watchdog_work(&w);
                        r = sd_event_dispatch(event);
                }
                if (r < 0)
                        return r;
        }
        return 0;
}
