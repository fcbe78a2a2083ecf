/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/source/sources.h"

#include "common/log.h"
#include "daemon/manager.h"
#include "sys/io/pid1.h"

/*
 * Finds the end of the boot. uasd asks PID 1 for its state, and PID 1 sends a signal at the end.
 * Nothing here waits for it. As long as PID 1 has not answered, fsck and mount may be at work: the
 * machine counts as starting.
 */

#define PAUSE_USEC USEC_PER_SEC
#define PAUSE_MOST_USEC (30 * USEC_PER_SEC)

static void boot_ask(void *data);

static void boot_ask_again(struct boot *b, int error)
{
        if (b->again.timer)
                return;
        log_full(
                b->pause == PAUSE_USEC ? LOG_NOTICE : LOG_DEBUG,
                "cannot ask PID 1 whether the boot is over: %s; asking again in %llu s. Until then only held disks are claimed.",
                strerror(-error), (unsigned long long) (b->pause / USEC_PER_SEC));
        b->pid1 = sd_bus_close_unref(b->pid1);
        (void) later_call(&b->again, b->manager->event, b->pause, boot_ask, b);
        b->pause *= 2;
        if (b->pause > PAUSE_MOST_USEC)
                b->pause = PAUSE_MOST_USEC;
}

static void boot_over(struct boot *b)
{
        later_cancel(&b->again);
        b->pid1 = sd_bus_close_unref(
                b->pid1); /* otherwise the signals of PID 1 would wake uasd at every unit */
        queue_post(b->manager, POST_BOOTED);
}

static int boot_on_startup_finished(sd_bus_message *message, void *data, sd_bus_error *error)
{
        boot_over(data);
        return 0;
}

/* PID 1 may only be re-executing itself. */
static int boot_on_gone(sd_bus_message *message, void *data, sd_bus_error *error)
{
        boot_ask_again(data, -ECONNRESET);
        return 0;
}

static int boot_on_state(sd_bus_message *message, void *data, sd_bus_error *error)
{
        struct boot *b = data;
        enum pid1_state state;
        int r = pid1_read_state(message, &state);

        if (r < 0) {
                boot_ask_again(b, r);
                return 0;
        }
        b->pause = PAUSE_USEC;
        if (state == PID1_STOPPING)
                b->manager->env.stopping = true;
        if (state != PID1_STARTING)
                boot_over(b);
        return 0;
}

/* Subscribes to the signal before it asks for the state, so that it does not miss the end of the
 * boot. */
static int boot_connect(struct boot *b)
{
        int r;

        r = sd_bus_match_signal_async(b->pid1, NULL, NULL, PID1_PATH, PID1_MANAGER,
                                      "StartupFinished", boot_on_startup_finished, NULL, b);
        if (r < 0)
                return r;
        r = sd_bus_match_signal_async(b->pid1, NULL, "org.freedesktop.DBus.Local", NULL,
                                      "org.freedesktop.DBus.Local", "Disconnected", boot_on_gone,
                                      NULL, b);
        if (r < 0)
                return r;
        r = sd_bus_call_method_async(b->pid1, NULL, PID1_SYSTEMD, PID1_PATH, PID1_MANAGER,
                                     "Subscribe", NULL, NULL, NULL);
        if (r < 0)
                return r;
        r = sd_bus_call_method_async(b->pid1, NULL, PID1_SYSTEMD, PID1_PATH,
                                     "org.freedesktop.DBus.Properties", "Get", boot_on_state, b,
                                     "ss", PID1_MANAGER, "SystemState");
        if (r < 0)
                return r;
        return pid1_attach(b->pid1, b->manager->event);
}

static void boot_ask(void *data)
{
        struct boot *b = data;
        int r = pid1_open(&b->manager->roots, &b->pid1);

        if (r == -ENOENT) { /* without systemd there is no boot to wait for */
                boot_over(b);
                return;
        }
        if (r < 0) {
                boot_ask_again(b, r);
                return;
        }
        r = boot_connect(b);
        if (r < 0)
                boot_ask_again(b, r);
}

void boot_await(struct manager *m)
{
        m->boot = (struct boot){.manager = m, .pause = PAUSE_USEC};
        boot_ask(&m->boot);
}
