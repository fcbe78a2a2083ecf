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

int pid1_open(uint64_t timeout, sd_bus **ret)
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
        if (r >= 0)
                r = sd_bus_set_method_call_timeout(bus, timeout);
        if (r < 0) {
                sd_bus_unref(bus);
                return r;
        }
        *ret = bus;
        return 0;
}

static enum pid1_state system_state(const char *state)
{
        if (streq(state, "stopping"))
                return PID1_STOPPING;
        return streq(state, "initializing") || streq(state, "starting") ? PID1_STARTING : PID1_RUNNING;
}

static int on_state(sd_bus_message *message, void *data, sd_bus_error *error)
{
        struct pid1_question *q = data;
        const char *state;

        q->answered = true;
        q->error = sd_bus_message_is_method_error(message, NULL) ? -sd_bus_message_get_errno(message) : 0;
        if (q->error >= 0)
                q->error = sd_bus_message_read(message, "v", "s", &state);
        if (q->error >= 0)
                q->state = system_state(state);
        return 0;
}

int pid1_ask(sd_bus *pid1, struct pid1_question *q)
{
        int r = sd_bus_call_method_async(pid1, &q->slot, SYSTEMD_NAME, SYSTEMD_PATH, "org.freedesktop.DBus.Properties", "Get",
                                         on_state, q, "ss", SYSTEMD_MANAGER, "SystemState");

        /* Until there is nothing to do but to wait. */
        while (r >= 0 && !q->answered && (r = sd_bus_process(pid1, NULL)) > 0)
                ;
        return r < 0 ? r : 0;
}

int pid1_answer(sd_bus *pid1, struct pid1_question *q, enum pid1_state *ret)
{
        int r = 0;

        while (!q->answered && r >= 0) {
                r = sd_bus_process(pid1, NULL);
                if (r == 0)
                        r = sd_bus_wait(pid1, UINT64_MAX); /* the call has a timeout of its own */
        }
        q->slot = sd_bus_slot_unref(q->slot);
        if (r < 0 || q->error < 0)
                return r < 0 ? r : q->error;
        *ret = q->state;
        return 0;
}

int pid1_state(sd_bus *pid1, enum pid1_state *ret)
{
        _cleanup_free_ char *state = NULL;
        int r = sd_bus_get_property_string(pid1, SYSTEMD_NAME, SYSTEMD_PATH, SYSTEMD_MANAGER, "SystemState", NULL, &state);

        if (r < 0)
                return r;
        *ret = system_state(state);
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
        int r = pid1_open(PID1_TIMEOUT, &pid1);

        if (r < 0)
                return r;
        (void) snprintf(unit, sizeof(unit), UNIT_MODPROBE, module);
        r = start_and_wait(pid1, unit, now_boottime() + usec);
        sd_bus_flush_close_unref(pid1);
        return r;
}

static int on_asked(sd_bus_message *message, void *data, sd_bus_error *error)
{
        sd_bus **pid1 = data;

        *pid1 = sd_bus_close_unref(*pid1);
        return 0;
}

int pid1_load_module_later(sd_event *event, const char *module, sd_bus **ret)
{
        char unit[64];
        int r = pid1_open(PID1_TIMEOUT, ret);

        if (r < 0)
                return r;
        (void) snprintf(unit, sizeof(unit), UNIT_MODPROBE, module);
        r = sd_bus_attach_event(*ret, event, SD_EVENT_PRIORITY_NORMAL);
        if (r >= 0)
                r = sd_bus_call_method_async(*ret, NULL, SYSTEMD_NAME, SYSTEMD_PATH, SYSTEMD_MANAGER, "StartUnit", on_asked, ret,
                                             "ss", unit, "replace");
        if (r < 0)
                *ret = sd_bus_close_unref(*ret);
        return r;
}
