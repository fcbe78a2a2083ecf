/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/pid1.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "common/names.h"
#include "common/util.h"
#include "sys/marks.h"

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

struct awaited {
        const char *job;
        bool done;
};

static int on_job_removed(sd_bus_message *message, void *data, sd_bus_error *error)
{
        struct awaited *a = data;
        const char *path;
        uint32_t id;

        if (sd_bus_message_read(message, "uo", &id, &path) >= 0 && a->job && streq(path, a->job))
                a->done = true;
        return 0;
}

static int start_and_wait(sd_bus *pid1, const char *unit, uint64_t deadline)
{
        sd_bus_message *reply = NULL;
        struct awaited a = { 0 };
        int r;

        r = sd_bus_match_signal(pid1, NULL, NULL, SYSTEMD_PATH, SYSTEMD_MANAGER, "JobRemoved", on_job_removed, &a);
        if (r >= 0)
                r = sd_bus_call_method(pid1, SYSTEMD_NAME, SYSTEMD_PATH, SYSTEMD_MANAGER, "StartUnit", NULL, &reply, "ss", unit,
                                       "replace");
        if (r >= 0)
                r = sd_bus_message_read(reply, "o", &a.job);
        /* A signal that came before the answer is still in the queue: it is delivered by the first round here. */
        while (r >= 0 && !a.done) {
                uint64_t now = now_boottime();

                r = sd_bus_process(pid1, NULL);
                if (r == 0)
                        r = now >= deadline ? -ETIMEDOUT : sd_bus_wait(pid1, deadline - now);
        }
        sd_bus_message_unref(reply);
        return r < 0 ? r : 0;
}

int pid1_load_module(const char *module, uint64_t usec)
{
        sd_bus *pid1 = NULL;
        char unit[64];
        int r = pid1_open(&pid1);

        if (r < 0)
                return r;
        (void) snprintf(unit, sizeof(unit), UNIT_MODPROBE, module);
        r = start_and_wait(pid1, unit, now_boottime() + usec);
        sd_bus_flush_close_unref(pid1);
        return r;
}
