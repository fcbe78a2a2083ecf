/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "client/watch.h"

#include "common/names.h"
#include "common/util.h"
#include "sys/io/clock.h"

static int read_one(sd_bus_message *m, struct job_step *t)
{
        const char *name, *value, *type;
        char kind;
        int k = sd_bus_message_read(m, "s", &name);

        if (k >= 0)
                k = sd_bus_message_peek_type(m, &kind, &type);
        if (k < 0)
                return k;
        if (!streq(type, "s"))
                return sd_bus_message_skip(m, "v");
        k = sd_bus_message_read(m, "v", "s", &value);
        if (k < 0)
                return k;
        if (streq(name, "Disk"))
                (void) copy_string(t->disk, sizeof(t->disk), value);
        else if (streq(name, "State"))
                (void) copy_string(t->state, sizeof(t->state), value);
        else if (streq(name, "Step"))
                (void) copy_string(t->step, sizeof(t->step), value);
        return 0;
}

static int read_members(sd_bus_message *m, struct job_step *ret)
{
        struct job_step t = {};
        int k = sd_bus_message_enter_container(m, 'a', "{sv}");

        while (k >= 0 && (k = sd_bus_message_enter_container(m, 'e', "sv")) > 0) {
                k = read_one(m, &t);
                if (k >= 0)
                        k = sd_bus_message_exit_container(m);
        }
        if (k >= 0)
                *ret = t;
        return k;
}

bool job_step_read(sd_bus_message *m, const char *disk, struct job_step *ret)
{
        if (read_members(m, ret) < 0 || (disk && !streq(ret->disk, disk)))
                return false;
        if (!streq(ret->state, "running"))
                ret->step[0] = '\0';
        return true;
}

/* Steps of a job are shown; nothing is to be read anew for them. */
static int on_change(sd_bus_message *m, void *data, sd_bus_error *e)
{
        struct watch *w = data;
        const char *interface;
        struct job_step step;

        if (sd_bus_message_read(m, "s", &interface) < 0 || !streq(interface, UASD_BUS_JOB))
                w->changed = true;
        else if (w->on_step && job_step_read(m, w->disk, &step))
                w->on_step(step.disk, step.step);
        return 0;
}

static int on_objects(sd_bus_message *m, void *data, sd_bus_error *e)
{
        const char *path;

        if (sd_bus_message_read(m, "o", &path) >= 0 && strncmp(path, UASD_BUS_PATH "/job/", strlen(UASD_BUS_PATH "/job/")) != 0)
                ((struct watch *) data)->changed = true;
        return 0;
}

static int on_owner(sd_bus_message *m, void *data, sd_bus_error *e)
{
        const char *name, *from, *to;

        if (sd_bus_message_read(m, "sss", &name, &from, &to) >= 0 && streq(name, UASD_BUS_NAME) && isempty(to))
                ((struct watch *) data)->gone = true;
        return 0;
}

static int on_job(sd_bus_message *m, void *data, sd_bus_error *e)
{
        const char *job, *disk, *step, *text;
        struct watch *w = data;
        int32_t code;

        if (sd_bus_message_read(m, "osiss", &job, &disk, &code, &step, &text) < 0)
                return 0;
        w->changed = true;
        if (!w->job || !streq(job, w->job))
                return 0;
        w->ended = true;
        w->outcome.code = code;
        (void) copy_string(w->outcome.step, sizeof(w->outcome.step), step);
        (void) copy_string(w->outcome.text, sizeof(w->outcome.text), text);
        return 0;
}

int watch_open(struct watch *w, struct remote *r, const char *disk, job_step_fn on_step)
{
        /* Peer to peer there is no bus to say who sent it. */
        const char *sender = r->peer ? NULL : UASD_BUS_NAME;
        int k;

        *w = (struct watch){.remote = r, .disk = disk, .on_step = on_step, .outcome.code = -1};
        k = sd_bus_match_signal(r->bus, &w->slots[0], sender, UASD_BUS_PATH, UASD_BUS_MANAGER, "JobRemoved",
                                on_job, w);
        if (k >= 0)
                k = sd_bus_match_signal(r->bus, &w->slots[1], sender, NULL, "org.freedesktop.DBus.Properties",
                                        "PropertiesChanged", on_change, w);
        if (k >= 0)
                k = sd_bus_match_signal(r->bus, &w->slots[2], sender, UASD_BUS_PATH,
                                        "org.freedesktop.DBus.ObjectManager", NULL, on_objects, w);
        if (k >= 0 && !r->peer)
                k = sd_bus_match_signal(r->bus, &w->slots[3], "org.freedesktop.DBus", "/org/freedesktop/DBus",
                                        "org.freedesktop.DBus", "NameOwnerChanged", on_owner, w);
        if (k < 0)
                watch_close(w);
        return k < 0 ? k : 0;
}

void watch_close(struct watch *w)
{
        for (size_t i = 0; i < ELEMENTSOF(w->slots); i++)
                w->slots[i] = sd_bus_slot_unref(w->slots[i]);
}

int watch_next(struct watch *w, uint64_t deadline)
{
        for (;;) {
                uint64_t now;
                int k;

                k = sd_bus_process(w->remote->bus, NULL);
                if (k < 0)
                        return k;
                if (k > 0)
                        continue; /* all that has come, before anything is made of it */
                if (w->ended || w->changed || w->gone)
                        return 0;
                now = now_boottime();
                if (now >= deadline)
                        return -ETIMEDOUT;
                k = sd_bus_wait(w->remote->bus, deadline == UINT64_MAX ? UINT64_MAX : deadline - now);
                if (k < 0 && k != -EINTR)
                        return k;
        }
}
