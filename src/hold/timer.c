/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "hold/timer.h"

#include <time.h>

#include "common/util.h"
#include "sys/pid1.h"

#define SYSTEMD "org.freedesktop.systemd1"
/* For the release to travel through udev and PID 1 on a machine that boots. */
#define MARGIN_USEC (3 * USEC_PER_SEC)

static void bus_unrefp(sd_bus **bus)
{
        sd_bus_flush_close_unref(*bus);
}

/*
 * The jobs of a boot wait for their devices since PID 1 had loaded its units: what shows up late cannot be held
 * for long. Later loading does not move that time.
 */
static int fits_the_boot(sd_bus *pid1, const struct hold_limits *l)
{
        struct timespec ts;
        uint64_t began, now;
        int r;

        r = sd_bus_get_property_trivial(pid1, SYSTEMD, "/org/freedesktop/systemd1", SYSTEMD ".Manager",
                                        "UnitsLoadFinishTimestampMonotonic", NULL, 't', &began);
        if (r < 0)
                return r;
        (void) clock_gettime(CLOCK_MONOTONIC, &ts);
        now = (uint64_t) ts.tv_sec * USEC_PER_SEC + (uint64_t) ts.tv_nsec / 1000;
        return now - began + l->hold + MARGIN_USEC <= l->device_timeout ? 0 : -ETIME;
}

int timer_arm(const char *interface, const struct hold_limits *l)
{
        _cleanup_(bus_unrefp) sd_bus *pid1 = NULL;
        enum pid1_state state = PID1_STOPPING;
        int r;

        r = pid1_open(&pid1);
        if (r < 0)
                return r;
        r = pid1_state(pid1, &state);
        if (r < 0)
                return r;
        switch (state) {
        case PID1_STARTING:
                r = fits_the_boot(pid1, l);
                if (r < 0)
                        return r;
                break;
        case PID1_RUNNING:
                break;
        case PID1_STOPPING:
                return -ESHUTDOWN;
        }
        return pid1_arm_release(pid1, interface);
}
