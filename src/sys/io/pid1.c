/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/io/pid1.h"

#include <fcntl.h>
#include <stdarg.h>

#include "common/names.h"
#include "common/util.h"
#include "sys/io/clock.h"

#define PROPERTIES "org.freedesktop.DBus.Properties"

static int open_at(const char *address, bool bus_client, sd_bus **ret)
{
        sd_bus *bus = NULL;
        int r = sd_bus_new(&bus);

        if (r >= 0)
                r = sd_bus_set_address(bus, address);
        if (r >= 0)
                r = sd_bus_set_bus_client(bus, bus_client);
        if (r >= 0)
                r = sd_bus_start(bus);
        if (r < 0) {
                sd_bus_unref(bus);
                return r == -ENOENT ? -ENOTCONN : r;
        }
        *ret = bus;
        return 0;
}

static int open_socket(const struct roots *r, bool private, sd_bus **ret)
{
        char address[128];
        int k = pid1_there(r);

        if (k < 0)
                return k;
        (void) snprintf(address, sizeof(address), "unix:path=/proc/self/fd/%i/%s", r->run,
                        private ? RUN_PID1_SOCKET : RUN_SYSTEM_BUS_SOCKET);
        return open_at(address, !private, ret);
}

bool pid1_has_socket(const struct roots *r)
{
        return faccessat(r->run, RUN_PID1_SOCKET, F_OK, 0) >= 0;
}

int pid1_open(const struct roots *r, sd_bus **ret)
{
        return open_socket(r, pid1_has_socket(r), ret);
}

int pid1_open_bus(const struct roots *r, sd_bus **ret)
{
        return open_socket(r, false, ret);
}

int pid1_attach(sd_bus *pid1, sd_event *event)
{
        int r = sd_bus_set_close_on_exit(pid1, false);

        return r < 0 ? r : sd_bus_attach_event(pid1, event, SD_EVENT_PRIORITY_NORMAL);
}

/* One round of sd-bus; waits until there is something to do. */
static int process(sd_bus *bus, struct awake deadline)
{
        usec_t left = awake_left(deadline);
        int r = sd_bus_process(bus, NULL);

        if (r == 0)
                r = left == 0 ? -ETIMEDOUT : sd_bus_wait(bus, left);
        return r < 0 ? r : 0;
}

/* Waits until the handshake is done. */
static int ready(sd_bus *bus, struct awake deadline)
{
        int r;

        while ((r = sd_bus_is_ready(bus)) == 0)
                if ((r = process(bus, deadline)) < 0)
                        break;
        return r < 0 ? r : 0;
}

int pid1_call(sd_bus *pid1, struct awake deadline, sd_bus_message **ret, const char *path, const char *interface,
              const char *member, const char *types, ...)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        int r = ready(pid1, deadline);
        usec_t left = awake_left(deadline);
        va_list ap;

        if (r >= 0)
                r = sd_bus_message_new_method_call(pid1, &call, PID1_SYSTEMD, path, interface, member);
        if (r >= 0 && types) {
                va_start(ap, types);
                r = sd_bus_message_appendv(call, types, ap);
                va_end(ap);
        }
        if (r >= 0 && left == 0) /* sd_bus_call() takes 0 for "25 s" */
                r = -ETIMEDOUT;
        return r < 0 ? r : sd_bus_call(pid1, call, left, NULL, ret);
}

int pid1_get_usec(sd_bus *pid1, struct awake deadline, const char *path, const char *interface, const char *property, usec_t *ret)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int r = pid1_call(pid1, deadline, &reply, path, PROPERTIES, "Get", "ss", interface, property);

        return r < 0 ? r : sd_bus_message_read(reply, "v", "t", ret);
}

static enum pid1_state system_state(const char *state)
{
        if (streq(state, "stopping"))
                return PID1_STOPPING;
        return streq(state, "initializing") || streq(state, "starting") ? PID1_STARTING : PID1_RUNNING;
}

int pid1_read_state(sd_bus_message *answer, enum pid1_state *ret)
{
        const char *state;
        int r = sd_bus_message_is_method_error(answer, NULL) ? -sd_bus_message_get_errno(answer) : 0;

        if (r >= 0)
                r = sd_bus_message_read(answer, "v", "s", &state);
        if (r < 0)
                return r;
        *ret = system_state(state);
        return 0;
}

int pid1_state(sd_bus *pid1, struct awake deadline, enum pid1_state *ret)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int r = pid1_call(pid1, deadline, &reply, PID1_PATH, PROPERTIES, "Get", "ss", PID1_MANAGER, "SystemState");

        return r < 0 ? r : pid1_read_state(reply, ret);
}

int pid1_arm_release(sd_bus *pid1, struct awake deadline, const char *interface)
{
        char unit[INTERFACE_NAME_MAX + 32];

        (void) snprintf(unit, sizeof(unit), UNIT_RELEASE_TIMER, interface);
        return pid1_call(pid1, deadline, NULL, PID1_PATH, PID1_MANAGER, "RestartUnit", "ss", unit, "replace");
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

static int start_and_wait(sd_bus *pid1, const char *unit, struct awake deadline)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        struct awaited a = {0};
        int r = ready(pid1, deadline); /* on a bus, a call puts the match in force */

        if (r >= 0)
                r = sd_bus_match_signal_async(pid1, NULL, NULL, PID1_PATH, PID1_MANAGER, "JobRemoved", on_job_removed, NULL, &a);
        if (r >= 0)
                r = pid1_call(pid1, deadline, &reply, PID1_PATH, PID1_MANAGER, "StartUnit", "ss", unit, "replace");
        if (r >= 0)
                r = sd_bus_message_read(reply, "o", &a.job);
        /* A signal that came before the answer is still in the queue. The first round here delivers it. */
        while (r >= 0 && !a.done)
                r = process(pid1, deadline);
        return r;
}

int pid1_load_module(const struct roots *r, const char *module, struct awake deadline)
{
        sd_bus *pid1 = NULL;
        char unit[64];
        int k = pid1_open(r, &pid1);

        if (k < 0)
                return k;
        (void) snprintf(unit, sizeof(unit), UNIT_MODPROBE, module);
        k = start_and_wait(pid1, unit, deadline);
        sd_bus_close_unref(pid1);
        return k;
}

static int on_asked(sd_bus_message *message, void *data, sd_bus_error *error)
{
        sd_bus **pid1 = data;

        *pid1 = sd_bus_close_unref(*pid1);
        return 0;
}

int pid1_start_later(const struct roots *r, sd_event *event, const char *unit, sd_bus **ret)
{
        int k = pid1_open(r, ret);

        if (k < 0)
                return k;
        k = pid1_attach(*ret, event);
        if (k >= 0)
                k = sd_bus_call_method_async(*ret, NULL, PID1_SYSTEMD, PID1_PATH, PID1_MANAGER, "StartUnit", on_asked, ret, "ss",
                                             unit, "replace");
        if (k < 0)
                *ret = sd_bus_close_unref(*ret);
        return k;
}

int pid1_load_module_later(const struct roots *r, sd_event *event, const char *module, sd_bus **ret)
{
        char unit[64];

        (void) snprintf(unit, sizeof(unit), UNIT_MODPROBE, module);
        return pid1_start_later(r, event, unit, ret);
}
