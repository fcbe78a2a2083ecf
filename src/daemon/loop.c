/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/loop.h"

#include <fcntl.h>
#include <inttypes.h>
#include <systemd/sd-daemon.h>

#include "common/log.h"
#include "common/util.h"
#include "sys/io/clock.h"

/* ---- PID 1's watchdog over the event loop (WatchdogSec= in uasd.service) ---- */

/* Time after the last event. Then uasd is at rest: it waits in epoll_wait(), where it cannot hang.
 */
#define REST_USEC USEC_PER_SEC

struct watchdog {
        usec_t period_usec; /* WatchdogSec=; 0: PID 1 does not watch */
        /* CLOCK_MONOTONIC in usec of the last message; 0: the message said that uasd is at rest */
        usec_t notified_at;
};

/* Called before an event is handled. If that takes longer than the period, PID 1 ends uasd and
 * starts another one. */
static void watchdog_work(struct watchdog *w)
{
        usec_t now = now_monotonic();

        if (w->period_usec == 0 ||
            (w->notified_at > 0 && now - w->notified_at < w->period_usec / 4))
                return;
        (void) sd_notifyf(0, "WATCHDOG_USEC=%" PRIu64 "\nWATCHDOG=1", w->period_usec);
        w->notified_at = now;
}

static void watchdog_rest(struct watchdog *w)
{
        (void) sd_notify(0, "WATCHDOG_USEC=0");
        w->notified_at = 0;
}

int loop_run(sd_event *event)
{
        struct watchdog w = {.notified_at = now_monotonic()}; /* PID 1 watches from READY=1 on */
        int r = sd_watchdog_enabled(true, &w.period_usec);

        if (r <= 0)
                w = (struct watchdog){0};
        while (sd_event_get_state(event) != SD_EVENT_FINISHED) {
                r = sd_event_prepare(event);
                if (r == 0)
                        r = sd_event_wait(event, w.notified_at > 0 ? REST_USEC : UINT64_MAX);
                if (r == 0 && w.notified_at > 0)
                        watchdog_rest(&w);
                if (r > 0) {
                        watchdog_work(&w);
                        r = sd_event_dispatch(event);
                }
                if (r < 0)
                        return r;
        }
        (void) sd_event_get_exit_code(event, &r);
        return r;
}

/* ---- timers ---- */

static int on_later(sd_event_source *s, usec_t usec, void *data)
{
        struct later *l = data;

        later_cancel(l);
        l->call(l->data);
        return 0;
}

int later_call(struct later *l, sd_event *event, usec_t delay, void (*call)(void *data), void *data)
{
        int r;

        later_cancel(l);
        *l = (struct later){.call = call, .data = data};
        r = sd_event_add_time_relative(event, &l->timer, CLOCK_MONOTONIC, delay, 0, on_later, l);
        if (r < 0)
                log_warning("no timer: %s", strerror(-r));
        return r;
}

void later_cancel(struct later *l)
{
        l->timer = sd_event_source_disable_unref(l->timer);
}

/* ---- pipes ---- */

int pipe_until_closed(sd_event *event, sd_event_io_handler_t fn, void *data, sd_event_source **ret,
                      int *ret_end)
{
        int ends[2], r;

        if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
                return -errno;
        r = sd_event_add_io(event, ret, ends[0], 0, fn, data); /* epoll always reports the end */
        if (r < 0) {
                (void) close(ends[0]);
                (void) close(ends[1]);
                return r;
        }
        (void) sd_event_source_set_io_fd_own(*ret, true);
        *ret_end = ends[1];
        return 0;
}
