/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/inotify.h>

#include "common/log.h"
#include "common/names.h"
#include "daemon/disks.h"
#include "daemon/queue.h"
#include "daemon/source/sources.h"
#include "sys/io/statefile.h"
#include "sys/state/attachment.h"
#include "sys/udev/uevents.h"

/*
 * Kernel events tell of a driver at once: inside delay_use there is a second, and udev's rules may take most of it. udev's
 * own events tell of block devices when it is done with them. Either only says where to look again.
 */
struct uevent_source {
        struct manager *manager;
        struct udev_monitor *kernel, *udev;
        sd_event_source *kernel_source, *udev_source;
};

/* udev's `remove` may come after the kernel's `add` of the next device at that port: only sysfs knows what is there. */
static void take_event(struct manager *m, const struct uevent *e)
{
        if (e->interface[0])
                queue_rescan(m, e->interface);
        /* dm, md, loop, bcache: with them a disk may come free. */
        else if (streq(e->subsystem, "block") && !streq(e->action, "add"))
                queue_post(m, POST_USES);
        /* The device itself, after its interfaces: when they went it was still there. */
        else if (streq(e->subsystem, "usb") && streq(e->action, "remove"))
                (void) attachments_prune(&m->roots);
}

static int on_uevents(sd_event_source *source, int fd, uint32_t revents, void *data)
{
        struct uevent_source *s = data;
        struct udev_monitor *monitor = source == s->kernel_source ? s->kernel : s->udev;
        struct uevent e;
        int r;

        while ((r = uevents_next(monitor, &e)) != 0) {
                if (r == -ENOBUFS) {
                        log_notice("kernel events were lost: looking at everything again");
                        queue_post(s->manager, POST_LOST);
                } else if (r < 0)
                        break;
                else
                        take_event(s->manager, &e);
        }
        return 0;
}

/* A hold that ends or a record that goes, without us: the dead man's timer, or a uasd-switch which we did not start. */
static int on_mark(sd_event_source *source, const struct inotify_event *i, void *data)
{
        struct manager *m = data;
        struct entry *e = i->len > 0 ? disk_find(m, i->name) : NULL;

        if (i->mask & IN_Q_OVERFLOW)
                queue_post(m, POST_RESCAN_ALL);
        if (e)
                queue_entry(e, POST_MARK);
        return 0;
}

/* A child of ours writes one with each step; it tells us those, and its end, itself. */
static int on_record(sd_event_source *source, const struct inotify_event *i, void *data)
{
        const struct entry *e = i->len > 0 ? disk_find(data, i->name) : NULL;

        return e && e->job ? 0 : on_mark(source, i, data);
}

static int watch_marks(struct manager *m, const char *dir, sd_event_inotify_handler_t on_change)
{
        char path[64];
        int r = state_mkdir(m->roots.run, dir);

        (void) snprintf(path, sizeof(path), "/proc/self/fd/%i/%s", m->roots.run, dir);
        if (r >= 0)
                r = sd_event_add_inotify(m->event, NULL, path, IN_DELETE | IN_MOVED_TO | IN_ONLYDIR, on_change, m);
        return r;
}

int uevents_start(struct manager *m)
{
        struct uevent_source *s = calloc(1, sizeof(*s));
        int r;

        if (!s)
                return -ENOMEM;
        s->manager = m;
        m->uevents = s;
        r = uevents_open(UEVENTS_BOUND, &s->kernel);
        if (r >= 0)
                r = uevents_open(UEVENTS_PROCESSED, &s->udev);
        if (r >= 0)
                r = sd_event_add_io(m->event, &s->kernel_source, uevents_fd(s->kernel), EPOLLIN, on_uevents, s);
        if (r >= 0)
                r = sd_event_add_io(m->event, &s->udev_source, uevents_fd(s->udev), EPOLLIN, on_uevents, s);
        if (r >= 0) /* a second is not long */
                r = sd_event_source_set_priority(s->kernel_source, SD_EVENT_PRIORITY_IMPORTANT);
        if (r >= 0 && (watch_marks(m, RUN_HOLD, on_mark) < 0 || watch_marks(m, RUN_SWITCH, on_record) < 0))
                log_warning("cannot watch /run/" RUN_DIR ": a hold that ends by its timer is seen late");
        return r;
}

void uevents_stop(struct manager *m)
{
        struct uevent_source *s = TAKE_PTR(m->uevents);

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
