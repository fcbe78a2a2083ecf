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
 * uasd-pid1, the only program of a switch and of a hold that loads libsystemd. It asks PID 1 one question. uasd-switch starts it
 * when it has the disk, uasd-hold-decide where a hold begins.
 */

/* A caller that waits ends this process sooner. One that was killed does not: then this process ends by itself. */
#define LONGEST (25 * USEC_PER_SEC)
#define BUS_BUDGET (250 * USEC_PER_MSEC) /* then the private socket is asked */

/*
 * The jobs of a boot wait for their devices from the time at which PID 1 has loaded its units. So a device that appears late
 * cannot be held for long. A later load of units does not move that time.
 */
static int fits_the_boot(sd_bus *pid1, struct awake deadline, const struct hold_limits *l)
{
        usec_t began, now;
        int r;

        r = pid1_get_usec(pid1, deadline, PID1_PATH, PID1_MANAGER, "UnitsLoadFinishTimestampMonotonic", &began);
        if (r < 0)
                return r;
        now = now_monotonic();
        return now - began + l->hold + MARGIN_USEC <= l->device_timeout ? 0 : -ETIME;
}

/* mdadm starts an array without a member that is late. If the disk has a member, the hold must not delay it for so long. */
static int fits_the_arrays(sd_bus *pid1, struct awake deadline, const struct hold_limits *l)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        const char *path;
        usec_t now;
        int r;

        now = now_monotonic();
        r = pid1_call(pid1, deadline, &reply, PID1_PATH, PID1_MANAGER, "ListUnitsByPatterns", "asas", 1, "active", 1,
                      "mdadm-last-resort@*.timer");
        if (r >= 0)
                r = sd_bus_message_enter_container(reply, 'a', "(ssssssouso)");
        while (r >= 0 && (r = sd_bus_message_read(reply, "(ssssssouso)", NULL, NULL, NULL, NULL, NULL, NULL, &path, NULL, NULL,
                                                  NULL)) > 0) {
                usec_t end = 0;

                r = pid1_get_usec(pid1, deadline, path, PID1_SYSTEMD ".Timer", "NextElapseUSecMonotonic", &end);
                if (r >= 0 && end > now && now + l->hold + MARGIN_USEC > end)
                        return -ETIME;
        }
        return r;
}

/*
 * Lets PID 1 start the dead man's timer of the interface. Returns 0 if the timer runs, -ESHUTDOWN if the machine is going down,
 * -ETIMEDOUT if PID 1 has not answered by `deadline`, or another -errno. -ETIME: the hold could outlast the time that a boot
 * waits for a device, or mdadm for the rest of an array.
 */
static int timer_arm(const struct roots *roots, const char *interface, struct awake deadline, const struct hold_limits *l)
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
        switch (state) {
        case PID1_STARTING:
                r = fits_the_boot(pid1, deadline, l);
                if (r < 0)
                        return r;
                break;
        case PID1_RUNNING:
                break;
        case PID1_STOPPING:
                return -ESHUTDOWN;
        }
        r = fits_the_arrays(pid1, deadline, l);
        if (r < 0)
                return r;
        return pid1_arm_release(pid1, deadline, interface);
}

static int ask_hold(const struct roots *r, const char *interface)
{
        struct hold_limits limits;
        int k = limits_read(r, &limits);

        return k < 0 ? k : timer_arm(r, interface, awake_in(TIMER_BUDGET), &limits);
}

static int state_over(int (*open)(const struct roots *r, sd_bus **ret), const struct roots *r, usec_t budget)
{
        _cleanup_(sd_bus_close_unrefp) sd_bus *pid1 = NULL;
        enum pid1_state state;
        int k = open(r, &pid1);

        if (k >= 0)
                k = pid1_state(pid1, awake_in(budget), &state);
        return k < 0 ? k : (int) state;
}

/* A switch waits for this answer. D-Bus may not run yet, or no more. */
static int ask_state(const struct roots *r, const char *unused)
{
        bool private = pid1_has_socket(r);
        int k = state_over(pid1_open_bus, r, private ? BUS_BUDGET : LONGEST);

        return k < 0 && private ? state_over(pid1_open, r, LONGEST) : k;
}

static int ask_release(const struct roots *r, const char *interface)
{
        _cleanup_(sd_bus_close_unrefp) sd_bus *pid1 = NULL;
        int k = pid1_open(r, &pid1);

        return k < 0 ? k : pid1_arm_release(pid1, awake_in(LONGEST), interface);
}

static int ask_load(const struct roots *r, const char *module)
{
        return pid1_load_module(r, module, awake_in(LONGEST));
}

static const struct question {
        const char *verb;
        int argc;
        bool interface; /* the last argument is the name of one */
        int (*ask)(const struct roots *r, const char *what);
} questions[] = {
        /* clang-format off */
        {PID1_ASK_STATE,   2, false, ask_state},
        {PID1_ASK_RELEASE, 3, true,  ask_release},
        {PID1_ASK_LOAD,    3, false, ask_load},
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
        struct roots r;
        int k;

        log_open("uasd-pid1", LOG_INFO);
        if (!q) {
                (void) fputs("usage: uasd-pid1 state | release INTERFACE | load MODULE | hold INTERFACE\n"
                             "uasd-switch and uasd-hold start it.\n",
                             stderr);
                return 2;
        }
        k = roots_open(&r, NULL);
        if (k >= 0) {
                k = q->ask(&r, argc > 2 ? argv[2] : NULL);
                roots_close(&r);
        } else
                k = -ECANCELED; /* -ENOENT is the answer that systemd is not PID 1 */
        (void) printf("%i\n", k);
        return k < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
