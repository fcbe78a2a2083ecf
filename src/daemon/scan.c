/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/inotify.h>

#include "common/exit-codes.h"
#include "common/log.h"
#include "common/names.h"
#include "core/policy.h"
#include "daemon/manager.h"
#include "sys/io/clock.h"
#include "sys/io/statefile.h"
#include "sys/state/attachment.h"
#include "sys/state/switch-record.h"
#include "sys/udev/uevents.h"

/* How often a uasd-switch that is not our child is asked for, while there is one. */
#define FOREIGN_USEC USEC_PER_SEC

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
                manager_post_rescan(m, e->interface);
        /* dm, md, loop, bcache: with them a disk may come free. */
        else if (streq(e->subsystem, "block") && !streq(e->action, "add"))
                manager_post_call(m, manager_look_at_waiting);
        /* The device itself, after its interfaces: when they went it was still there. */
        else if (streq(e->subsystem, "usb") && streq(e->action, "remove"))
                (void) attachments_prune(&m->roots);
}

static int on_uevents(sd_event_source *source, int fd, uint32_t revents, void *data)
{
        struct scan *s = data;
        struct udev_monitor *monitor = source == s->kernel_source ? s->kernel : s->udev;
        struct uevent e;
        int r;

        while ((r = uevents_next(monitor, &e)) != 0) {
                if (r == -ENOBUFS) {
                        log_notice("kernel events were lost: looking at everything again");
                        manager_post_call(s->manager, manager_look_at_all);
                } else if (r < 0)
                        break;
                else
                        take_event(s->manager, &e);
        }
        return 0;
}

static int on_foreign(sd_event_source *source, uint64_t usec, void *data);

/* A record is gone before its lock, and nothing tells of the lock: asked for until it is free, for which others wait too. */
static void ask_later(struct entry *e)
{
        uint64_t when = now_boottime() + FOREIGN_USEC;
        int r = 0;

        if (!e->foreign_timer)
                r = sd_event_add_time(e->manager->event, &e->foreign_timer, CLOCK_BOOTTIME, when, 0, on_foreign, e);
        else if ((r = sd_event_source_set_time(e->foreign_timer, when)) >= 0)
                r = sd_event_source_set_enabled(e->foreign_timer, SD_EVENT_ONESHOT);
        if (r < 0)
                log_warning("%s: no timer: %s", e->life.disk.facts.interface, strerror(-r));
}

/* It has ended. It told its result to somebody else: where the disk is now has to do. */
static void foreign_ended(struct entry *e, const struct event *event)
{
        struct event done = { .type = EVENT_DONE };
        struct outcome *o = &done.outcome;
        const struct disk *d = &e->life.disk;

        if (!e->life.running || e->job)
                return;
        trouble_adopt(e);
        if (!decision_wants_switch(&d->facts, &d->decision))
                o->code = UASD_EXIT_OK;
        else /* one of our own was about to begin, or it was of a disk that was unplugged, or all there was to it has failed */
                o->code = e->life.going_to != DRIVER_NONE || e->foreign_gone ? UASD_EXIT_DEFERRED : UASD_EXIT_FAILED;
        (void) snprintf(o->text, sizeof(o->text), "a switch begun earlier has ended; it is on %s", driver_to_string(d->facts.driver));
        manager_feed(e, &done);
        job_told(e);
}

/* True if that is still at work. */
static bool look_at_foreign(struct entry *e)
{
        bool stale;

        if (job_foreign(e->manager, e->life.disk.facts.interface, &stale)) {
                ask_later(e);
                return true;
        }
        e->foreign_timer = sd_event_source_disable_unref(e->foreign_timer);
        if (stale && job_recover(e) >= 0)
                return false;
        e->manager->keepoff_due = true; /* what it has put on record */
        manager_post_rescan(e->manager, e->life.disk.facts.interface);
        manager_post(e, foreign_ended, &(struct event){ 0 });
        return false;
}

static int on_foreign(sd_event_source *source, uint64_t usec, void *data)
{
        struct entry *e = data;

        if (e->life.running && !e->job)
                (void) look_at_foreign(e);
        return 0;
}

bool scan_adopt_running(struct entry *e, bool *ret_stale)
{
        if (!job_foreign(e->manager, e->life.disk.facts.interface, ret_stale))
                return false;
        e->life.running = true;
        e->foreign_gone = switch_of_another(&e->manager->roots, &e->life.disk.facts);
        ask_later(e);
        return true;
}

void scan_adopt(struct entry *e)
{
        const struct facts *f = &e->life.disk.facts;
        bool stale;

        if (scan_adopt_running(e, &stale))
                return;
        if (stale)
                e->life.running = job_recover(e) >= 0;
        else if (untold_there(&e->manager->roots, f)) { /* it has ended, and uasd before it could say so */
                log_notice("%s: a switch begun earlier has ended; it is on %s", f->interface, driver_to_string(f->driver));
                (void) untold_remove(&e->manager->roots, f);
        }
}

/* A hold that ends or a record that goes, without us: the dead man's timer, or a uasd-switch which we did not start. */
static int on_mark(sd_event_source *source, const struct inotify_event *i, void *data)
{
        struct scan *s = data;
        struct manager *m = s->manager;
        struct entry *e = i->len > 0 ? manager_find(m, i->name) : NULL;

        if (i->mask & IN_Q_OVERFLOW)
                manager_post_call(m, manager_rescan_all);
        if (e && (!e->life.running || e->job || look_at_foreign(e))) {
                m->keepoff_due = true;
                manager_post_rescan(m, i->name);
        }
        return 0;
}

/* Our own child writes one with each step; it tells us those, and its end, itself. */
static int on_record(sd_event_source *source, const struct inotify_event *i, void *data)
{
        const struct entry *e = i->len > 0 ? manager_find(((struct scan *) data)->manager, i->name) : NULL;

        return e && e->job ? 0 : on_mark(source, i, data);
}

static int watch_marks(struct scan *s, const char *dir, sd_event_inotify_handler_t on_change)
{
        struct manager *m = s->manager;
        char path[64];
        int r = state_mkdir(m->roots.run, dir);

        (void) snprintf(path, sizeof(path), "/proc/self/fd/%i/%s", m->roots.run, dir);
        if (r >= 0)
                r = sd_event_add_inotify(m->event, NULL, path, IN_DELETE | IN_MOVED_TO | IN_ONLYDIR, on_change, s);
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
        r = uevents_open(UEVENTS_BOUND, &s->kernel);
        if (r >= 0)
                r = uevents_open(UEVENTS_PROCESSED, &s->udev);
        if (r >= 0)
                r = sd_event_add_io(m->event, &s->kernel_source, uevents_fd(s->kernel), EPOLLIN, on_uevents, s);
        if (r >= 0)
                r = sd_event_add_io(m->event, &s->udev_source, uevents_fd(s->udev), EPOLLIN, on_uevents, s);
        if (r >= 0) /* a second is not long */
                r = sd_event_source_set_priority(s->kernel_source, SD_EVENT_PRIORITY_IMPORTANT);
        if (r >= 0 && (watch_marks(s, RUN_HOLD, on_mark) < 0 || watch_marks(s, RUN_SWITCH, on_record) < 0))
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
