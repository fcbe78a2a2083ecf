/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/watch.h"

#include "common/names.h"
#include "common/util.h"
#include "ctl/progress.h"
#include "sys/marks.h"

/* Steps of a job are shown; nothing is to be read anew for them. */
static int on_change(sd_bus_message *m, void *data, sd_bus_error *e)
{
        struct watch *w = data;
        const char *interface;

        if (sd_bus_message_read(m, "s", &interface) >= 0 && streq(interface, UASD_BUS_JOB))
                progress_take(m, w->disk);
        else
                w->changed = true;
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

int watch_open(struct watch *w, struct remote *r, const char *disk)
{
        /* Peer to peer there is no bus to say who sent it. */
        const char *sender = r->peer ? NULL : UASD_BUS_NAME;
        int k;

        *w = (struct watch){.remote = r, .disk = disk, .outcome.code = -1};
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

static int next(struct watch *w, uint64_t deadline)
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

int watch_next(struct watch *w, uint64_t deadline)
{
        int k = next(w, deadline);

        /* Only what has changed leaves a switch where it is. */
        if (k < 0 || w->ended || w->gone)
                progress_clear();
        return k;
}
