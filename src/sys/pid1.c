/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/pid1.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "common/names.h"
#include "common/util.h"

#define SYSTEMD_NAME "org.freedesktop.systemd1"
#define SYSTEMD_PATH "/org/freedesktop/systemd1"
#define SYSTEMD_MANAGER SYSTEMD_NAME ".Manager"

int pid1_open(sd_bus **ret)
{
        sd_bus *bus = NULL;
        int r;

        if (access("/run/" RUN_PID1_SOCKET, F_OK) < 0)
                return -ENOENT;
        r = sd_bus_new(&bus);
        if (r >= 0)
                r = sd_bus_set_address(bus, "unix:path=/run/" RUN_PID1_SOCKET);
        if (r >= 0)
                r = sd_bus_start(bus);
        if (r >= 0) /* PID 1 answers at once or is in trouble of its own: never wait for it */
                r = sd_bus_set_method_call_timeout(bus, 5 * USEC_PER_SEC);
        if (r < 0) {
                sd_bus_unref(bus);
                return r;
        }
        *ret = bus;
        return 0;
}

int pid1_state(sd_bus *pid1, enum pid1_state *ret)
{
        _cleanup_free_ char *state = NULL;
        int r = sd_bus_get_property_string(pid1, SYSTEMD_NAME, SYSTEMD_PATH, SYSTEMD_MANAGER, "SystemState", NULL, &state);

        if (r < 0)
                return r;
        if (streq(state, "stopping"))
                *ret = PID1_STOPPING;
        else if (streq(state, "initializing") || streq(state, "starting"))
                *ret = PID1_STARTING;
        else
                *ret = PID1_RUNNING;
        return 0;
}

int pid1_arm_release(sd_bus *pid1, const char *interface)
{
        char unit[INTERFACE_NAME_MAX + 32];

        (void) snprintf(unit, sizeof(unit), UNIT_RELEASE_TIMER, interface);
        return sd_bus_call_method(pid1, SYSTEMD_NAME, SYSTEMD_PATH, SYSTEMD_MANAGER, "RestartUnit", NULL, NULL, "ss", unit,
                                  "replace");
}
