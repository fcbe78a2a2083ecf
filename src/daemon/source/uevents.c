/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/inotify.h>

#include "common/log.h"
#include "common/names.h"
#include "daemon/manager.h"
#include "sys/io/statefile.h"
#include "sys/platform/udevd.h"
#include "sys/state/attachment.h"
#include "sys/udev/uevents.h"

/*
 * Kernel events report a driver at once: delay_use is one second, and udev's rules may need most of
 * it. Before Linux 4.14 there is no `bind`, but the `add` of the SCSI host comes before it anyway.
 * udev's own events report block devices when its rules are done; where no udevd runs, the kernel's
 * do. All only say which disk to read again.
 */

/* udev's `remove` may come after the kernel's `add` of the next device at that port. Only sysfs
 * shows what is there. */
static void uevent_take(struct manager *m, const struct uevent *e)
{
        if (e->interface[0])
                queue_rescan(m, e->interface);
        /* dm, md, loop, bcache: their end may be the end of a use. */
        else if (streq(e->subsystem, "block") && !streq(e->action, "add"))
                queue_post(m, POST_USES);
        /* The device itself goes after its interfaces: at their events it was still there. */
        else if (streq(e->subsystem, "usb") && streq(e->action, "remove"))
                (void) attachments_prune(&m->roots, e->name);
}

static int uevents_read(struct uevent_source *s, enum uevents which)
{
        bool heed = which != UEVENTS_ANNOUNCED || !udevd_runs(&s->manager->roots);
        struct uevent e;
        int r;

        while ((r = uevents_next(s->monitors[which], &e)) != 0) {
                if (r < 0 && r != -ENOBUFS)
                        break;
                if (!heed)
                        continue;
                if (r < 0) {
                        log_notice("kernel events were lost: looking at everything again");
                        queue_post(s->manager, POST_LOST);
                } else
                        uevent_take(s->manager, &e);
        }
        return 0;
}

static int uevents_on_bound(sd_event_source *source, int fd, uint32_t revents, void *data)
{
        return uevents_read(data, UEVENTS_BOUND);
}

static int uevents_on_announced(sd_event_source *source, int fd, uint32_t revents, void *data)
{
        return uevents_read(data, UEVENTS_ANNOUNCED);
}

static int uevents_on_processed(sd_event_source *source, int fd, uint32_t revents, void *data)
{
        return uevents_read(data, UEVENTS_PROCESSED);
}

/* Another program has ended a hold or removed a record: the dead man's timer, or a foreign
 * uasd-switch. */
static int uevents_on_mark(sd_event_source *source, const struct inotify_event *i, void *data)
{
        struct manager *m = data;
        struct entry *e = i->len > 0 ? disk_find(m, i->name) : NULL;

        if (i->mask & IN_Q_OVERFLOW)
                queue_post(m, POST_RESCAN_ALL);
        if (e)
                queue_entry(e, POST_MARK);
        return 0;
}

/* A child of uasd writes one with each step, and reports its steps and its end itself. */
static int uevents_on_record(sd_event_source *source, const struct inotify_event *i, void *data)
{
        const struct entry *e = i->len > 0 ? disk_find(data, i->name) : NULL;

        if (e && e->run)
                return 0;
        return uevents_on_mark(source, i, data);
}

static int uevents_watch_marks(struct manager *m, const char *dir,
                               sd_event_inotify_handler_t on_change)
{
        char path[64];

        (void) state_mkdir(m->roots.run, dir); /* an error is one of the watch, too */
        (void) snprintf(path, sizeof(path), "/proc/self/fd/%i/%s", m->roots.run, dir);
        return sd_event_add_inotify(m->event, NULL, path, IN_DELETE | IN_MOVED_TO | IN_ONLYDIR,
                                    on_change, m);
}

static int uevents_listen(struct manager *m, enum uevents which, sd_event_io_handler_t on_event,
                          int64_t priority)
{
        struct uevent_source *s = &m->uevents;
        sd_event_source *source;
        int r = uevents_open(which, &s->monitors[which]);

        if (r < 0)
                return r;
        r = sd_event_add_io(m->event, &source, uevents_fd(s->monitors[which]), EPOLLIN, on_event,
                            s);
        if (r < 0)
                return r;
        (void) sd_event_source_set_floating(source, true);
        return sd_event_source_set_priority(source, priority);
}

int uevents_start(struct manager *m)
{
        int r;

        m->uevents.manager = m;
        r = uevents_listen(m, UEVENTS_BOUND, uevents_on_bound,
                           SD_EVENT_PRIORITY_IMPORTANT); /* delay_use is only one second */
        if (r < 0)
                return r;
        r = uevents_listen(m, UEVENTS_ANNOUNCED, uevents_on_announced, SD_EVENT_PRIORITY_NORMAL);
        if (r < 0)
                return r;
        r = uevents_listen(m, UEVENTS_PROCESSED, uevents_on_processed, SD_EVENT_PRIORITY_NORMAL);
        if (r < 0)
                return r;
        if (uevents_watch_marks(m, RUN_HOLD, uevents_on_mark) < 0 ||
            uevents_watch_marks(m, RUN_SWITCH, uevents_on_record) < 0)
                log_warning("cannot watch /run/" RUN_DIR
                            ": a hold that ends by its timer is seen late");
        return 0;
}
