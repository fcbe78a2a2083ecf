/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "client/watch.h"

#include <assert.h>
#include <limits.h>
#include <poll.h>

#include "client/local.h"
#include "client/remote-parse.h"
#include "client/remote.h"
#include "common/names.h"
#include "common/sentence.h"
#include "common/util.h"
#include "sys/io/clock.h"

/* ---- the disks ---- */

static void watch_report(struct daemon_watch *w, const struct view *v, enum disk_event e)
{
        w->changed = true;
        if (w->on_disk)
                w->on_disk(v, e, w->data);
}

/* Takes ownership of the contents of now. */
static void put_disk(struct daemon_watch *w, struct view *now, enum disk_event if_new)
{
        struct view *v = views_find(&w->disks, now->disk.facts.interface);

        if (v) {
                view_done(v);
                *v = TAKE_STRUCT(*now);
                watch_report(w, v, DISK_CHANGED);
        } else {
                views_add(&w->disks, now);
                watch_report(w, &w->disks.list[w->disks.n - 1], if_new);
        }
}

static void drop_disk(struct daemon_watch *w, const char *interface)
{
        struct view *v = views_find(&w->disks, interface);

        if (!v)
                return;
        watch_report(w, v, DISK_REMOVED);
        view_done(v);
        *v = w->disks.list[--w->disks.n];
}

static int watch_read_all(struct daemon_watch *w, enum disk_event if_new)
{
        _cleanup_(views_done) struct views now = {};
        int r = local_refresh(w->roots, w->remote, &now);

        if (r < 0)
                return r;
        for (size_t i = w->disks.n; i-- > 0;)
                if (!views_find(&now, w->disks.list[i].disk.facts.interface))
                        drop_disk(w, w->disks.list[i].disk.facts.interface);
        for (size_t i = 0; i < now.n; i++)
                put_disk(w, &now.list[i], if_new);
        return 0;
}

/* ---- signals ---- */

/* Reads the disk that a signal names. state: that in the signal, -1: not in it. If the disk has
 * another one by now, a later signal brings that and all that came with it. */
static void watch_read_one(struct daemon_watch *w, const char *path, int state)
{
        _cleanup_(views_done) struct views now = {};
        _cleanup_free_ char *id = NULL;
        struct view *v, *old;

        if (sd_bus_path_decode(path, UASD_BUS_PATH "/disk", &id) <= 0)
                return;
        if (local_refresh(w->roots, w->remote, &now) < 0) {
                w->reread = true;
                return;
        }
        old = views_find(&w->disks, id);
        v = views_find(&now, id) ?: old; /* it may have gone already */
        if (!v)
                return;
        if (state >= 0 && v->disk.state != (enum state) state) {
                if (old)
                        v = old;
                v->disk.state = (enum state) state;
                view_describe(v);
        }
        if (v != old)
                put_disk(w, v, DISK_ADDED);
        else
                watch_report(w, v, DISK_CHANGED);
}

static int on_properties(sd_bus_message *m, void *data, sd_bus_error *e)
{
        struct daemon_watch *w = data;
        struct job_step s = {};
        const char *interface;
        int state = -1;

        if (sd_bus_message_read(m, "s", &interface) < 0 || remote_parse_step(m, &s) < 0)
                return 0;
        if (streq(interface, UASD_BUS_JOB) && w->on_step && (!w->disk || streq(s.disk, w->disk)))
                w->on_step(s.disk, streq(s.state, "running") ? s.step : "", w->data);
        if (!streq(interface, UASD_BUS_DISK))
                return 0;
        if (*s.state)
                state = state_from_string(s.state);
        if (*s.state && state < 0) /* another version */
                w->reread = true;
        else
                watch_read_one(w, sd_bus_message_get_path(m), state);
        return 0;
}

static int on_objects(sd_bus_message *m, void *data, sd_bus_error *e)
{
        _cleanup_free_ char *id = NULL;
        struct daemon_watch *w = data;
        const char *path;

        if (sd_bus_message_read(m, "o", &path) < 0)
                return 0;
        if (sd_bus_message_is_signal(m, NULL, "InterfacesAdded"))
                watch_read_one(w, path, -1);
        else if (sd_bus_message_is_signal(m, NULL, "InterfacesRemoved") &&
                 sd_bus_path_decode(path, UASD_BUS_PATH "/disk", &id) > 0)
                drop_disk(w, id);
        return 0;
}

static int on_name_owner(sd_bus_message *m, void *data, sd_bus_error *e)
{
        const char *name, *from, *to;
        struct daemon_watch *w = data;

        if (sd_bus_message_read(m, "sss", &name, &from, &to) < 0 || !streq(name, UASD_BUS_NAME))
                return 0;
        w->gone = w->gone || isempty(to);
        w->reread = !isempty(to);
        return 0;
}

static int on_job(sd_bus_message *m, void *data, sd_bus_error *e)
{
        const char *job, *disk, *step, *text;
        struct daemon_watch *w = data;
        int32_t code;

        if (sd_bus_message_read(m, "osiss", &job, &disk, &code, &step, &text) < 0 || !w->job ||
            !streq(job, w->job))
                return 0;
        w->ended = true;
        w->outcome.code = code;
        (void) copy_string(w->outcome.step, sizeof(w->outcome.step), step);
        (void) sd_bus_message_read(m, "s", &text); /* in parts */
        (void) sentence_fill(text, w->outcome.text, sizeof(w->outcome.text));
        return 0;
}

static int watch_begin(struct daemon_watch *w)
{
        /* Peer to peer, no bus names the sender. */
        const char *sender = w->remote->peer ? NULL : UASD_BUS_NAME;
        sd_bus *bus = w->remote->bus;
        int r;

        r = sd_bus_match_signal(bus, &w->slots[0], sender, UASD_BUS_PATH, UASD_BUS_MANAGER,
                                "JobRemoved", on_job, w);
        if (r < 0)
                return r;
        r = sd_bus_match_signal(bus, &w->slots[1], sender, NULL, "org.freedesktop.DBus.Properties",
                                "PropertiesChanged", on_properties, w);
        if (r < 0)
                return r;
        r = sd_bus_match_signal(bus, &w->slots[2], sender, UASD_BUS_PATH,
                                "org.freedesktop.DBus.ObjectManager", NULL, on_objects, w);
        if (r < 0)
                return r;
        if (!w->remote->peer) {
                r = sd_bus_match_signal(bus, &w->slots[3], "org.freedesktop.DBus",
                                        "/org/freedesktop/DBus", "org.freedesktop.DBus",
                                        "NameOwnerChanged", on_name_owner, w);
                if (r < 0)
                        return r;
        }
        /* The disks are read only after the matches are in place, so no change is missed. */
        return watch_read_all(w, DISK_PRESENT);
}

int daemon_watch_open(struct daemon_watch *w, const struct roots *roots, struct remote *remote)
{
        int r;

        w->roots = roots;
        w->remote = remote;
        r = watch_begin(w);
        w->changed = false;
        if (r < 0)
                daemon_watch_close(w);
        return r;
}

int daemon_watch_refresh(struct daemon_watch *w)
{
        return watch_read_all(w, DISK_ADDED);
}

void daemon_watch_close(struct daemon_watch *w)
{
        for (size_t i = 0; i < ELEMENTSOF(w->slots); i++)
                w->slots[i] = sd_bus_slot_unref(w->slots[i]);
        views_done(&w->disks);
}

/* ---- waiting ---- */

/* usec: UINT64_MAX, or near it: no limit. sd-bus has no limit of its own: no call of ours is under
 * way. */
static int wait_for_bus(struct daemon_watch *w, uint64_t usec)
{
        sd_bus *bus = w->remote->bus;
        struct pollfd fds[] = {
                {.fd = sd_bus_get_fd(bus), .events = (short) sd_bus_get_events(bus)},
                {.fd = w->hangup_fd},
        };
        uint64_t msec = usec / USEC_PER_MSEC + 1;

        if (poll(fds, ELEMENTSOF(fds), msec > INT_MAX ? -1 : (int) msec) < 0)
                return errno == EINTR ? 0 : -errno;
        if (fds[1].revents & (POLLERR | POLLHUP | POLLNVAL))
                return -EPIPE;
        return 0;
}

int daemon_watch_next(struct daemon_watch *w, uint64_t deadline)
{
        assert(w->remote);
        for (;;) {
                uint64_t now;
                int r;

                r = sd_bus_process(w->remote->bus, NULL);
                if (r < 0)
                        return r;
                if (r > 0)
                        continue; /* process all messages first */
                if (w->reread) {
                        w->reread = false;
                        r = watch_read_all(w, DISK_ADDED);
                        if (r < 0)
                                return r;
                        continue;
                }
                if (w->ended || w->changed || w->gone)
                        return 0;
                now = now_boottime();
                if (now >= deadline)
                        return -ETIMEDOUT;
                r = wait_for_bus(w, deadline - now);
                if (r < 0)
                        return r;
        }
}
