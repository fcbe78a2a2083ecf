/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/io/pid1.h"

#include <fcntl.h>
#include <stdarg.h>

#include "common/names.h"
#include "common/util.h"
#include "sys/io/bus-wait.h"
#include "sys/io/clock.h"

#define PROPERTIES "org.freedesktop.DBus.Properties"

static int pid1_open_socket(const struct roots *roots, bool private, sd_bus **ret)
{
        _cleanup_(sd_bus_unrefp) sd_bus *bus = NULL;
        char address[128];
        int r = pid1_there(roots);

        if (r < 0)
                return r;
        (void) snprintf(address, sizeof(address), "unix:path=/proc/self/fd/%i/%s", roots->run,
                        private ? RUN_PID1_SOCKET : RUN_SYSTEM_BUS_SOCKET);
        r = sd_bus_new(&bus);
        if (r < 0)
                return r;
        r = sd_bus_set_address(bus, address);
        if (r < 0)
                return r;
        r = sd_bus_set_bus_client(bus, !private);
        if (r < 0)
                return r;
        r = sd_bus_start(bus);
        if (r == -ENOENT)
                return -ENOTCONN;
        if (r < 0)
                return r;
        *ret = TAKE_PTR(bus);
        return 0;
}

bool pid1_has_socket(const struct roots *roots)
{
        return faccessat(roots->run, RUN_PID1_SOCKET, F_OK, 0) >= 0;
}

int pid1_open(const struct roots *roots, sd_bus **ret)
{
        return pid1_open_socket(roots, pid1_has_socket(roots), ret);
}

int pid1_open_bus(const struct roots *roots, sd_bus **ret)
{
        return pid1_open_socket(roots, false, ret);
}

int pid1_attach(sd_bus *pid1, sd_event *event)
{
        int r = sd_bus_set_close_on_exit(pid1, false);

        if (r < 0)
                return r;
        return sd_bus_attach_event(pid1, event, SD_EVENT_PRIORITY_NORMAL);
}

int pid1_call(sd_bus *pid1, struct awake deadline, sd_bus_message **ret, const char *path,
              const char *interface, const char *member, const char *types, ...)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        int r = bus_wait_ready(pid1, deadline);
        usec_t left = awake_left(deadline);
        va_list ap;

        if (r < 0)
                return r;
        r = sd_bus_message_new_method_call(pid1, &call, PID1_SYSTEMD, path, interface, member);
        if (r < 0)
                return r;
        if (types) {
                va_start(ap, types);
                r = sd_bus_message_appendv(call, types, ap);
                va_end(ap);
                if (r < 0)
                        return r;
        }
        if (left == 0) /* sd_bus_call() takes 0 for "25 s" */
                return -ETIMEDOUT;
        return sd_bus_call(pid1, call, left, NULL, ret);
}

int pid1_get_usec(sd_bus *pid1, struct awake deadline, const char *path, const char *interface,
                  const char *property, usec_t *ret)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int r = pid1_call(pid1, deadline, &reply, path, PROPERTIES, "Get", "ss", interface,
                          property);

        if (r < 0)
                return r;
        return sd_bus_message_read(reply, "v", "t", ret);
}

static enum pid1_state pid1_state_parse(const char *state)
{
        if (streq(state, "stopping"))
                return PID1_STOPPING;
        if (streq(state, "initializing") || streq(state, "starting"))
                return PID1_STARTING;
        return PID1_RUNNING;
}

int pid1_read_state(sd_bus_message *answer, enum pid1_state *ret)
{
        const char *state;
        int r;

        if (sd_bus_message_is_method_error(answer, NULL))
                return -sd_bus_message_get_errno(answer);
        r = sd_bus_message_read(answer, "v", "s", &state);
        if (r < 0)
                return r;
        *ret = pid1_state_parse(state);
        return 0;
}

int pid1_state(sd_bus *pid1, struct awake deadline, enum pid1_state *ret)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int r = pid1_call(pid1, deadline, &reply, PID1_PATH, PROPERTIES, "Get", "ss", PID1_MANAGER,
                          "SystemState");

        if (r < 0)
                return r;
        return pid1_read_state(reply, ret);
}

int pid1_arm_release(sd_bus *pid1, struct awake deadline, const char *interface)
{
        char unit[INTERFACE_NAME_MAX + 32];

        (void) snprintf(unit, sizeof(unit), UNIT_RELEASE_TIMER, interface);
        return pid1_call(pid1, deadline, NULL, PID1_PATH, PID1_MANAGER, "RestartUnit", "ss", unit,
                         "replace");
}

struct awaited {
        const char *job;
        bool done;
};

static int pid1_on_job_removed(sd_bus_message *message, void *data, sd_bus_error *error)
{
        struct awaited *a = data;
        const char *path;
        uint32_t id;

        if (sd_bus_message_read(message, "uo", &id, &path) >= 0 && a->job && streq(path, a->job))
                a->done = true;
        return 0;
}

static int pid1_start_and_wait(sd_bus *pid1, const char *unit, struct awake deadline)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        struct awaited a = {0};
        int r = bus_wait_ready(pid1, deadline); /* on a bus, a call puts the match in force */

        if (r < 0)
                return r;
        r = sd_bus_match_signal_async(pid1, NULL, NULL, PID1_PATH, PID1_MANAGER, "JobRemoved",
                                      pid1_on_job_removed, NULL, &a);
        if (r < 0)
                return r;
        r = pid1_call(pid1, deadline, &reply, PID1_PATH, PID1_MANAGER, "StartUnit", "ss", unit,
                      "replace");
        if (r < 0)
                return r;
        r = sd_bus_message_read(reply, "o", &a.job);
        if (r < 0)
                return r;
        /* A signal that came before the answer is still in the queue. The first round here delivers
         * it. */
        while (!a.done) {
                r = bus_process(pid1, deadline);
                if (r < 0)
                        return r;
        }
        return 0;
}

int pid1_start(const struct roots *roots, const char *unit, struct awake deadline)
{
        _cleanup_(sd_bus_close_unrefp) sd_bus *pid1 = NULL;
        int r = pid1_open(roots, &pid1);

        if (r < 0)
                return r;
        return pid1_start_and_wait(pid1, unit, deadline);
}

static int pid1_on_asked(sd_bus_message *message, void *data, sd_bus_error *error)
{
        sd_bus **pid1 = data;

        *pid1 = sd_bus_close_unref(*pid1);
        return 0;
}

int pid1_start_later(const struct roots *roots, sd_event *event, const char *unit, sd_bus **ret)
{
        _cleanup_(sd_bus_close_unrefp) sd_bus *pid1 = NULL;
        int r = pid1_open(roots, &pid1);

        if (r < 0)
                return r;
        r = pid1_attach(pid1, event);
        if (r < 0)
                return r;
        r = sd_bus_call_method_async(pid1, NULL, PID1_SYSTEMD, PID1_PATH, PID1_MANAGER, "StartUnit",
                                     pid1_on_asked, ret, "ss", unit, "replace");
        if (r < 0)
                return r;
        *ret = TAKE_PTR(pid1);
        return r;
}
