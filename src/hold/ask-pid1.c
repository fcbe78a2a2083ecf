/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <stdlib.h>

#include "common/log.h"
#include "common/util.h"
#include "core/disk.h"
#include "hold/allowed.h"
#include "hold/early.h"
#include "sys/io/ask-pid1.h"
#include "sys/io/clock.h"
#include "sys/io/pid1.h"

/*
 * uasd-pid1, the only program of a switch and of a hold that loads libsystemd. It asks PID 1 one
 * question. uasd-switch starts it when it has the disk, uasd-hold-decide where a hold begins.
 */

/* A caller that waits ends this process sooner. One that was killed does not: then this process
 * ends by itself. */
#define LONGEST (25 * USEC_PER_SEC)
#define BUS_BUDGET (250 * USEC_PER_MSEC) /* then the private socket is asked */

struct unit {
        const char *name, *path;
        uint32_t job; /* 0: none */
};

/* Reads the next unit of an answer to ListUnitsByPatterns. Returns 1, 0 at the end, or -errno. */
static int unit_next(sd_bus_message *units, struct unit *ret)
{
        return sd_bus_message_read(units, "(ssssssouso)", &ret->name, NULL, NULL, NULL, NULL, NULL,
                                   &ret->path, &ret->job, NULL, NULL);
}

/* Lowers *limit to a timeout of a unit. No timeout is UINT64_MAX. */
static int take_timeout(sd_bus *pid1, struct awake deadline, const struct unit *u,
                        const char *property, usec_t *limit)
{
        usec_t timeout;
        int r = pid1_get_usec(pid1, deadline, u->path, PID1_SYSTEMD ".Unit", property, &timeout);

        if (r < 0)
                return r;
        if (timeout > 0 && timeout < *limit)
                *limit = timeout;
        return 0;
}

/*
 * Lowers *limit to the shortest time for which a job may still wait. The generators have written it
 * into the units, from all their options and whatever these are called. A device that is missing is
 * inactive, and the units above it are too. Their jobs wait without running, so
 * JobRunningTimeoutSec= counts only for a device.
 */
static int take_jobs(sd_bus *pid1, struct awake deadline, usec_t *limit)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *units = NULL;
        struct unit u;
        int r;

        r = pid1_call(pid1, deadline, &units, PID1_PATH, PID1_MANAGER, "ListUnitsByPatterns",
                      "asas", 2, "inactive", "activating", 4, "*.device", "*.mount", "*.swap",
                      "*.target");
        if (r < 0)
                return r;
        r = sd_bus_message_enter_container(units, 'a', "(ssssssouso)");
        if (r < 0)
                return r;
        for (;;) {
                r = unit_next(units, &u);
                if (r <= 0)
                        return r;
                if (u.job == 0)
                        continue;
                r = take_timeout(pid1, deadline, &u, "JobTimeoutUSec", limit);
                if (r < 0)
                        return r;
                if (!endswith(u.name, ".device"))
                        continue;
                r = take_timeout(pid1, deadline, &u, "JobRunningTimeoutUSec", limit);
                if (r < 0)
                        return r;
        }
}

/*
 * A job that waits must not end because of the hold. PID 1 does not tell when a job began. The jobs
 * of a boot begin when it has loaded its units; a later load of units does not move that time. So a
 * device that appears late in a boot cannot be held for long. Later, a job may wait since the
 * machine runs. Half of the time is for units that wait for the disk, and for the events after a
 * release.
 */
static int fits_the_jobs(sd_bus *pid1, struct awake deadline, const struct hold_limits *l,
                         bool boot)
{
        usec_t began = 0, limit = UINT64_MAX;
        int r;

        if (boot) {
                r = pid1_get_usec(pid1, deadline, PID1_PATH, PID1_MANAGER,
                                  "UnitsLoadFinishTimestampMonotonic", &began);
                if (r < 0)
                        return r;
        }
        r = take_jobs(pid1, deadline, &limit);
        if (r < 0)
                return r;
        return l->hold <= limit / 2 && now_monotonic() - began + l->hold + MARGIN_USEC <= limit
                       ? 0
                       : -ETIME;
}

/* mdadm starts an array without a member that is late. If the disk has a member, the hold must not
 * delay it for so long. */
static int fits_the_arrays(sd_bus *pid1, struct awake deadline, const struct hold_limits *l)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *timers = NULL;
        struct unit u;
        usec_t now;
        int r;

        now = now_monotonic();
        r = pid1_call(pid1, deadline, &timers, PID1_PATH, PID1_MANAGER, "ListUnitsByPatterns",
                      "asas", 1, "active", 1, "mdadm-last-resort@*.timer");
        if (r < 0)
                return r;
        r = sd_bus_message_enter_container(timers, 'a', "(ssssssouso)");
        if (r < 0)
                return r;
        for (;;) {
                usec_t end;

                r = unit_next(timers, &u);
                if (r <= 0)
                        return r;
                r = pid1_get_usec(pid1, deadline, u.path, PID1_SYSTEMD ".Timer",
                                  "NextElapseUSecMonotonic", &end);
                if (r < 0)
                        return r;
                if (end > now && now + l->hold + MARGIN_USEC > end)
                        return -ETIME;
        }
}

/*
 * Lets PID 1 start the dead man's timer of the interface. Returns 0 if the timer runs, -ESHUTDOWN
 * if the machine is going down, -ETIMEDOUT if PID 1 has not answered by `deadline`, or another
 * -errno. -ETIME: the hold could outlast the time that a boot waits for a device, or mdadm for the
 * rest of an array.
 */
static int timer_arm(const struct roots *roots, const char *interface, struct awake deadline,
                     const struct hold_limits *l)
{
        _cleanup_(sd_bus_close_unrefp) sd_bus *pid1 = NULL;
        enum pid1_state state = PID1_STOPPING;
        int r;

        r = pid1_open(roots, &pid1);
        if (r < 0)
                return r;
        r = pid1_state(pid1, deadline, &state);
        if (r < 0)
                return r;
        if (state == PID1_STOPPING)
                return -ESHUTDOWN;
        r = fits_the_jobs(pid1, deadline, l, state == PID1_STARTING);
        if (r < 0)
                return r;
        r = fits_the_arrays(pid1, deadline, l);
        if (r < 0)
                return r;
        return pid1_arm_release(pid1, deadline, interface);
}

static int ask_hold(const struct roots *roots, const char *interface)
{
        struct hold_limits limits;
        int r = limits_read(roots, &limits);

        if (r < 0)
                return r;
        return timer_arm(roots, interface, awake_in(TIMER_BUDGET), &limits);
}

static int state_over(int (*open)(const struct roots *roots, sd_bus **ret),
                      const struct roots *roots, usec_t budget)
{
        _cleanup_(sd_bus_close_unrefp) sd_bus *pid1 = NULL;
        enum pid1_state state;
        int r = open(roots, &pid1);

        if (r < 0)
                return r;
        r = pid1_state(pid1, awake_in(budget), &state);
        if (r < 0)
                return r;
        return (int) state;
}

/* A switch waits for this answer. D-Bus may not run yet, or no more. */
static int ask_state(const struct roots *roots, const char *unused)
{
        int r;

        if (!pid1_has_socket(roots))
                return state_over(pid1_open_bus, roots, LONGEST);
        r = state_over(pid1_open_bus, roots, BUS_BUDGET);
        if (r < 0)
                return state_over(pid1_open, roots, LONGEST);
        return r;
}

static int ask_release(const struct roots *roots, const char *interface)
{
        _cleanup_(sd_bus_close_unrefp) sd_bus *pid1 = NULL;
        int r = pid1_open(roots, &pid1);

        if (r < 0)
                return r;
        return pid1_arm_release(pid1, awake_in(LONGEST), interface);
}

static int ask_start(const struct roots *roots, const char *unit)
{
        return pid1_start(roots, unit, awake_in(LONGEST));
}

static const struct question {
        const char *verb;
        int argc;
        bool interface; /* the last argument is the name of one */
        int (*ask)(const struct roots *roots, const char *what);
} questions[] = {
        /* clang-format off */
        {PID1_ASK_STATE,   2, false, ask_state},
        {PID1_ASK_RELEASE, 3, true,  ask_release},
        {PID1_ASK_START,   3, false, ask_start},
        {PID1_ASK_HOLD,    3, true,  ask_hold},
        /* clang-format on */
};

static const struct question *question_find(int argc, char **argv)
{
        for (size_t i = 0; argc > 1 && i < ELEMENTSOF(questions); i++)
                if (streq(argv[1], questions[i].verb) && argc == questions[i].argc &&
                    (!questions[i].interface || interface_name_valid(argv[2])))
                        return &questions[i];
        return NULL;
}

/* Prints the answer as sys/io/ask-pid1.c reads it: a number, or -errno. */
int main(int argc, char **argv)
{
        const struct question *q = question_find(argc, argv);
        _cleanup_(roots_close) struct roots roots = ROOTS_NULL;
        int r;

        log_open("uasd-pid1", LOG_INFO);
        if (!q) {
                (void) fputs(
                        "usage: uasd-pid1 state | release INTERFACE | start UNIT | hold INTERFACE\n"
                        "uasd-switch and uasd-hold start it.\n",
                        stderr);
                return 2;
        }
        if (roots_open(&roots, NULL) < 0)
                r = -ECANCELED; /* -ENOENT is the answer that systemd is not PID 1 */
        else
                r = q->ask(&roots, argv[2]); /* NULL: none */
        (void) printf("%i\n", r);
        return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
