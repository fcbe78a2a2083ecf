/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/manager.h"

#include <assert.h>

#include "common/exit-codes.h"
#include "common/log.h"
#include "sys/facts.h"
#include "sys/io/clock.h"
#include "sys/quirks/modules.h"
#include "sys/state/attachment.h"
#include "sys/udev/hwdb.h"
#include "sys/udev/trigger.h"
#include "sys/usb/usbdisk.h"
#include "sys/users/users.h"

/* A disk without a driver is given this long: udev may be loading one. */
#define UNBOUND_USEC (5 * USEC_PER_SEC)

/* ---- actions ---- */

static int on_timer(sd_event_source *s, uint64_t usec, void *data)
{
        manager_feed(data, &(struct event){ .type = EVENT_TIMER });
        return 0;
}

static void set_timer(struct entry *e, uint64_t usec)
{
        int r = 0;

        if (usec == USEC_INFINITY) {
                if (e->timer)
                        (void) sd_event_source_set_enabled(e->timer, SD_EVENT_OFF);
                return;
        }
        if (!e->timer)
                r = sd_event_add_time(e->manager->event, &e->timer, CLOCK_BOOTTIME, usec, 10 * USEC_PER_MSEC, on_timer, e);
        else if ((r = sd_event_source_set_time(e->timer, usec)) >= 0)
                r = sd_event_source_set_enabled(e->timer, SD_EVENT_ONESHOT);
        if (r < 0)
                log_warning("%s: no timer: %s", e->life.disk.facts.interface, strerror(-r));
}

static int on_unbound(sd_event_source *s, uint64_t usec, void *data)
{
        struct entry *e = data;

        e->unbound_timer = sd_event_source_disable_unref(s);
        manager_post_rescan(e->manager, e->life.disk.facts.interface);
        return 0;
}

static void release_now(struct entry *e)
{
        struct manager *m = e->manager;
        int r = hold_release(&m->roots, &e->life.disk.facts);

        if (r >= 0)
                r = trigger_add(&m->roots, e->life.disk.luns, e->life.disk.n_luns);
        if (r < 0)
                log_warning("%s: release: %s", e->life.disk.facts.interface, strerror(-r));
        report_release(e);
}

void manager_switch(struct entry *e, const struct action *a)
{
        int r;

        if (scan_adopt_running(e, NULL))
                return;
        if (a->target == DRIVER_UAS)
                trouble_begin(e);
        r = job_start(e, a);
        if (r < 0)
                log_error("%s: cannot start uasd-switch: %s", e->life.disk.facts.interface, strerror(-r));
}

static void act(struct entry *e, const struct action *a, enum state before)
{
        struct manager *m = e->manager;

        switch (a->type) {
        case ACTION_SWITCH:
                if (!lease_lets_go(e, a))
                        manager_switch(e, a);
                break;
        case ACTION_RELEASE:
                release_now(e);
                break;
        case ACTION_WATCH:
                watch_add(m->watch, e);
                break;
        case ACTION_UNWATCH:
                watch_remove(m->watch, e);
                break;
        case ACTION_LOOK:
                manager_look(e);
                break;
        case ACTION_TIMER:
                set_timer(e, a->deadline);
                break;
        case ACTION_PASSED:
                trouble_trial_over(e);
                break;
        case ACTION_REPORT:
                if (e->life.disk.state == STATE_WAITING) /* the journal is to say for whom, also before anybody has asked */
                        who_uses(e);
                report_state(e, before);
                bus_disk_changed(m->bus, e);
                break;
        case _ACTION_MAX:
                break;
        }
}

/* The exit status of a request that ends without a switch. */
static int at_rest(const struct entry *e)
{
        const struct disk *d = &e->life.disk;

        if (e->life.cancelled)
                return UASD_EXIT_FAILED;
        if (e->asked.to == DRIVER_NONE || e->asked.to == d->facts.driver)
                return UASD_EXIT_OK;
        return d->decision.rest == STATE_INCAPABLE ? UASD_EXIT_INCAPABLE : UASD_EXIT_REFUSED;
}

/* A request ends with the switch, or when the machine comes to rest without one. */
static void settle_request(struct entry *e)
{
        const struct disk *d = &e->life.disk;
        char reason[512];
        /* Of a disk that has just lost its driver nothing is decided yet: it may be given another one. */
        bool undecided = d->decision.reason == REASON_JUST_UNBOUND && !e->life.cancelled;
        bool pending = undecided || d->state == STATE_WAITING || d->state == STATE_HELD;

        if (!e->request || e->request_source)
                return;
        /* It may wait once more after it went wrong, for what nobody asked: to get away from uas. */
        if (lease_returns(e) || d->state == STATE_SWITCHING || (pending && !disk_went_wrong(d))) {
                bus_request_changed(e->manager->bus, e);
                return;
        }
        if (d->state == STATE_FAILED || d->outcome.code == UASD_EXIT_OK || disk_went_wrong(d))
                bus_request_done(e->manager->bus, e, d->outcome.code, d->outcome.step, d->outcome.text);
        else {
                int code = at_rest(e);

                /* It was accepted, and what was found since speaks against it. */
                if (code == UASD_EXIT_REFUSED || code == UASD_EXIT_INCAPABLE)
                        request_undo(e);
                bus_request_done(e->manager->bus, e, code, "", disk_reason(d, reason, sizeof(reason)));
        }
        e->request = 0;
}

void manager_feed(struct entry *e, const struct event *event)
{
        struct manager *m = e->manager;
        enum state before = e->life.disk.state;
        bool cancelled = e->life.cancelled;
        struct actions actions;
        uint64_t now = now_and_asleep(&m->env.asleep_usec);

        machine_step(&e->life, &m->env, event, now, &actions);
        if (e->life.cancelled != cancelled)
                keep_cancelled(e);
        for (size_t i = 0; i < actions.n; i++)
                act(e, &actions.list[i], before);
        lease_settle(e);
        settle_request(e);
}

/* ---- what is there ---- */

static void note_unbound(struct entry *e, struct facts *f)
{
        uint64_t now = now_boottime();

        if (f->driver != DRIVER_NONE) {
                e->unbound_since = 0;
                if (f->driver == DRIVER_USB_STORAGE)
                        facts_complete_module(&e->manager->roots, f);
                return;
        }
        if (!e->unbound_since)
                e->unbound_since = now;
        if (now < e->unbound_since + UNBOUND_USEC) {
                f->just_unbound = true;
                if (!e->unbound_timer)
                        (void) sd_event_add_time(e->manager->event, &e->unbound_timer, CLOCK_BOOTTIME,
                                                 e->unbound_since + UNBOUND_USEC, 0, on_unbound, e);
        } else
                facts_complete_module(&e->manager->roots, f);
}

/* Read once, kept as long as the device stays: asked while the disk hangs, it would not answer. */
static void keep_strings(const struct facts *old, struct facts *new)
{
        memcpy(new->manufacturer, old->manufacturer, sizeof(new->manufacturer));
        memcpy(new->product, old->product, sizeof(new->product));
        memcpy(new->serial, old->serial, sizeof(new->serial));
}

static void take_scan(struct entry *e, struct usb_disk *d)
{
        struct manager *m = e->manager;
        struct disk *disk = &e->life.disk;
        struct attachment_mark mark = { .override_target = DRIVER_NONE };

        facts_complete(&m->roots, &m->config, &d->facts);
        if (!disk->facts.interface[0] || disk->facts.driver != d->facts.driver) /* a trial may have begun, or ended */
                m->keepoff_due = true;
        facts_complete_hwdb(&m->roots, &d->facts);
        keepoff_see(e, &d->facts);
        if (keepoff_review(m))
                facts_complete(&m->roots, &m->config, &d->facts);
        trouble_judge(e, &d->facts);
        note_unbound(e, &d->facts);
        disk->facts = d->facts;
        memcpy(disk->host, d->host, sizeof(disk->host));
        luns_free(disk->luns, disk->n_luns);
        disk->luns = TAKE_PTR(d->luns);
        disk->n_luns = d->n_luns;
        d->n_luns = 0;
        if (attachment_read(&m->roots, &disk->facts, &mark) >= 0) {
                e->life.tried = mark.tried;
                e->life.cancelled = mark.cancelled;
        }
}

static void feed_hold(struct entry *e)
{
        uint64_t deadline;
        bool held = hold_in_force(&e->manager->roots, &e->life.disk.facts, now_boottime(), &deadline);

        if (held && !e->life.held && !e->life.running)
                report_hold(e); /* not that of a switch under way, which is part of it */
        if (held && !e->life.held)
                manager_feed(e, &(struct event){ .type = EVENT_HOLD, .deadline = deadline });
        else if (!held && e->life.held)
                manager_feed(e, &(struct event){ .type = EVENT_RELEASED });
}

/* What is worth telling: a rescan for every uevent must not wake everybody who listens. */
struct look {
        enum driver driver;
        enum policy policy;
        size_t n_luns, n_disks;
        char host[16];
        char first[BLOCK_NAME_MAX];
};

static struct look look_of(const struct disk *d)
{
        struct look l = { .driver = d->facts.driver, .policy = d->facts.policy, .n_luns = d->n_luns };

        memcpy(l.host, d->host, sizeof(l.host));
        for (size_t i = 0; i < d->n_luns; i++)
                if (d->luns[i].disk.name[0] && l.n_disks++ == 0)
                        memcpy(l.first, d->luns[i].disk.name, sizeof(l.first));
        return l;
}

static bool look_same(const struct look *a, const struct look *b)
{
        return a->driver == b->driver && a->policy == b->policy && a->n_luns == b->n_luns && a->n_disks == b->n_disks &&
               streq(a->host, b->host) && streq(a->first, b->first);
}

/* interface: not the entry's own copy, which may go with the entry. */
void manager_rescan(struct manager *m, const char *interface)
{
        struct entry *e = manager_find(m, interface);
        struct usb_disk d = { 0 };
        struct look before = { 0 }, after;
        bool new = !e;
        int r = usb_disk_read(&m->roots, interface, false, &d);

        assert(m->draining);
        if (r <= 0) {
                if (r == 0 || r == -ENODEV)
                        strings_drop(m, interface);
                if (e && (r == 0 || r == -ENODEV))
                        entry_gone(e);
                return;
        }
        /* Another device at the same port: another life. */
        if (e && (e->life.disk.facts.busnum != d.facts.busnum || e->life.disk.facts.devnum != d.facts.devnum)) {
                usb_disk_done(&d);
                entry_gone(e);
                manager_rescan(m, interface);
                return;
        }
        if (new && !strings_known(m, &d.facts)) { /* it is read again when they are */
                usb_disk_done(&d);
                return;
        }
        if (new) {
                e = entry_new(m);
                if (!e) {
                        usb_disk_done(&d);
                        return;
                }
        } else {
                before = look_of(&e->life.disk);
                keep_strings(&e->life.disk.facts, &d.facts);
        }
        take_scan(e, &d);
        usb_disk_done(&d);
        if (e->life.watched) /* a table that was written anew has brought new nodes */
                watch_nodes(m->watch, e);
        if (new) {
                inhibit_apply(e);
                scan_adopt(e);
                trouble_adopt(e);
                lease_adopt(e);
        }
        kmsg_arm(m->kmsg);
        feed_hold(e);
        manager_feed(e, &(struct event){ .type = EVENT_SCANNED });
        after = look_of(&e->life.disk);
        if (new) {
                e->announced = true;
                bus_disk_added(m->bus, e);
                trouble_came(e);
        } else if (!look_same(&before, &after))
                bus_disk_changed(m->bus, e);
}

void manager_rescan_all(struct manager *m)
{
        char **names = NULL;

        for (size_t i = m->n_entries; i-- > 0;) {
                char interface[INTERFACE_NAME_MAX];

                memcpy(interface, m->entries[i]->life.disk.facts.interface, sizeof(interface));
                manager_rescan(m, interface);
        }
        if (usb_disk_enumerate(&m->roots, &names) >= 0)
                for (char **n = names; n && *n; n++)
                        if (!manager_find(m, *n))
                                manager_rescan(m, *n);
        strv_free(names);
}

void manager_seen(struct entry *e, const struct event *users)
{
        bool before = e->life.in_use;

        manager_feed(e, users);
        if (e->life.in_use != before && e->announced)
                bus_disk_changed(e->manager->bus, e);
}

void manager_look(struct entry *e)
{
        struct manager *m = e->manager;
        struct disk *d = &e->life.disk;
        int r;

        if (e->life.hidden) {
                look_by_name(e);
                return;
        }
        r = users_any(&m->roots, d->luns, d->n_luns);
        if (r < 0)
                log_debug("%s: cannot see who uses it: %s", d->facts.interface, strerror(-r));
        /* Not knowing is not being free. */
        manager_seen(e, &(struct event){ .type = EVENT_USERS, .in_use = r != 0, .told = r == 1 });
}

void manager_look_at_waiting(struct manager *m)
{
        watch_changed(m->watch);
}

void manager_look_at_all(struct manager *m)
{
        (void) attachments_prune(&m->roots);
        manager_rescan_all(m);
        watch_lost(m->watch);
}
