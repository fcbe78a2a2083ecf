/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/inotify.h>

#include "common/log.h"
#include "common/names.h"
#include "daemon/manager.h"
#include "sys/marks.h"
#include "sys/statefile.h"
#include "sys/uevents.h"

/*
 * Kernel events tell of a driver at once: inside delay_use there is a second, and udev's rules may take most of it. udev's
 * own events tell of block devices when it is done with them. Either only says where to look again.
 */
struct scan {
        struct manager *manager;
        struct udev_monitor *kernel, *udev;
        sd_event_source *kernel_source, *udev_source;
};

/* udev's `remove` may come after the kernel's `add` of the next device at that port: only sysfs knows what is there. */
static void take_event(struct manager *m, const struct uevent *e)
{
        if (e->interface[0])
                manager_rescan(m, e->interface);
        /* dm, md, loop, bcache: with them a disk may come free. */
        else if (streq(e->subsystem, "block") && !streq(e->action, "add"))
                manager_look_at_waiting(m);
}

static int on_uevents(sd_event_source *source, int fd, uint32_t revents, void *data)
{
        struct scan *s = data;
        struct udev_monitor *monitor = source == s->kernel_source ? s->kernel : s->udev;
        struct uevent last = { 0 }, e;
        int r;

        /* A burst about one interface is looked at once, but for the going and coming of the interface itself. */
        while ((r = uevents_next(monitor, &e)) != 0) {
                if (r == -ENOBUFS) {
                        log_notice("kernel events were lost: looking at everything again");
                        manager_rescan_all(s->manager);
                        last = (struct uevent){ 0 };
                } else if (r < 0)
                        break;
                else {
                        if (last.subsystem[0] && (!streq(last.interface, e.interface) || streq(e.devtype, "usb_interface")))
                                take_event(s->manager, &last);
                        last = e;
                }
        }
        take_event(s->manager, &last);
        return 0;
}

/* A hold that ends or a record that goes, without us: the dead man's timer, or a uasd-switch which we did not start. */
static int on_mark(sd_event_source *source, const struct inotify_event *i, void *data)
{
        struct scan *s = data;
        struct manager *m = s->manager;
        struct entry *e = i->len > 0 ? manager_find(m, i->name) : NULL;
        bool stale;

        if (i->mask & IN_Q_OVERFLOW)
                manager_rescan_all(m);
        if (!e)
                return 0;
        if (e->life.running && !e->job && !job_foreign(m, i->name, &stale) && !stale) {
                struct event done = { .type = EVENT_DONE };

                e->life.running = false;
                manager_rescan(m, i->name);
                e = manager_find(m, i->name);
                if (!e)
                        return 0;
                e->life.running = true;
                done.outcome.code = e->life.disk.decision.target == e->life.disk.facts.driver ? 0 : 1;
                (void) copy_string(done.outcome.text, sizeof(done.outcome.text), "it ended while uasd was not looking");
                manager_feed(e, &done);
        } else
                manager_rescan(m, i->name);
        return 0;
}

static int watch_marks(struct scan *s, const char *dir)
{
        struct manager *m = s->manager;
        char path[64];
        int r = state_mkdir(m->roots.run, dir);

        (void) snprintf(path, sizeof(path), "/proc/self/fd/%i/%s", m->roots.run, dir);
        if (r >= 0)
                r = sd_event_add_inotify(m->event, NULL, path, IN_DELETE | IN_MOVED_TO | IN_ONLYDIR, on_mark, s);
        return r;
}

int scan_start(struct manager *m)
{
        struct scan *s = calloc(1, sizeof(*s));
        int r;

        if (!s)
                return -ENOMEM;
        s->manager = m;
        m->scan = s;
        r = uevents_open(false, &s->kernel);
        if (r >= 0)
                r = uevents_open(true, &s->udev);
        if (r >= 0)
                r = sd_event_add_io(m->event, &s->kernel_source, uevents_fd(s->kernel), EPOLLIN, on_uevents, s);
        if (r >= 0)
                r = sd_event_add_io(m->event, &s->udev_source, uevents_fd(s->udev), EPOLLIN, on_uevents, s);
        if (r >= 0) /* a second is not long */
                r = sd_event_source_set_priority(s->kernel_source, SD_EVENT_PRIORITY_IMPORTANT);
        if (r >= 0 && (watch_marks(s, RUN_HOLD) < 0 || watch_marks(s, RUN_SWITCH) < 0))
                log_warning("cannot watch /run/" RUN_DIR ": a hold that ends by its timer is seen late");
        return r;
}

void scan_free(struct scan *s)
{
        if (!s)
                return;
        sd_event_source_disable_unref(s->kernel_source);
        sd_event_source_disable_unref(s->udev_source);
        if (s->kernel)
                uevents_close(s->kernel);
        if (s->udev)
                uevents_close(s->udev);
        free(s);
}
