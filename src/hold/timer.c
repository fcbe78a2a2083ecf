/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <stdlib.h>

#include "common/log.h"
#include "common/util.h"
#include "core/disk.h"
#include "hold/dropin.h"
#include "hold/early.h"
#include "sys/io/clock.h"
#include "sys/io/pid1.h"

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

/* Only this program of the hold loads libsystemd, and it runs only where a hold begins: uasd-hold runs at every event. */
int main(int argc, char **argv)
{
        struct hold_limits limits;
        struct roots r;
        int k;

        log_open("uasd-hold-timer", LOG_INFO);
        if (argc != 2 || !interface_name_valid(argv[1])) {
                (void) fputs("usage: uasd-hold-timer INTERFACE (uasd-hold starts it)\n", stderr);
                return 2;
        }
        k = roots_open(&r, NULL);
        if (k < 0)
                return EXIT_FAILURE;
        k = limits_read(&r, &limits);
        if (k >= 0)
                k = timer_arm(&r, argv[1], awake_in(TIMER_BUDGET), &limits);
        roots_close(&r);
        return k < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
