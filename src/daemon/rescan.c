/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/rescan.h"

#include <assert.h>

#include "common/exit-codes.h"
#include "common/util.h"
#include "core/learn.h"
#include "core/machine.h"
#include "daemon/actions.h"
#include "daemon/feature/event-hooks.h"
#include "daemon/feature/inhibit.h"
#include "daemon/feature/keepoff.h"
#include "daemon/feature/lease.h"
#include "daemon/feature/report.h"
#include "daemon/feature/requests.h"
#include "daemon/feature/switches.h"
#include "daemon/feature/take-mounts.h"
#include "daemon/feature/trouble.h"
#include "daemon/feature/users.h"
#include "daemon/work/marks.h"
#include "daemon/work/records.h"
#include "daemon/work/strings.h"
#include "sys/io/clock.h"
#include "sys/quirks/modules.h"
#include "sys/state/attachment.h"
#include "sys/udev/udevdb.h"
#include "sys/usb/usbdisk.h"

/* Adds disks, reads them again, and removes them. */

/* A disk has this long to get a driver: udev may be loading one. */
#define UNBOUND_USEC (5 * USEC_PER_SEC)

static struct entry *entry_new(struct manager *m)
{
        struct entry *e = calloc(1, sizeof(*e));

        if (!e)
                return NULL;
        e->manager = m;
        life_init(&e->life);
        TAILQ_INSERT_TAIL(&m->entries, e, link);
        m->n_entries++;
        return e;
}

static void entry_free(struct entry *e)
{
        queue_forget(e);
        record_forget_entry(e);
        users_forget(e);
        use_watch_remove(e);
        switch_run_orphan(e->run);
        lease_free(e);
        take_forget(e);
        sd_event_source_disable_unref(e->timer);
        sd_event_source_disable_unref(e->unbound);
        later_cancel(&e->foreign.again);
        free(e->trouble.unkept);
        free(e->trims);
        disk_done(&e->life.disk);
        free(e);
}

/* Reports that the disk was unplugged to all who wait for it, and frees its entry. */
static void entry_gone(struct entry *e)
{
        struct manager *m = e->manager;
        char port[INTERFACE_NAME_MAX];

        assert(m->queue.draining);
        /* Our own switch does not begin while an eject or another process has the lock. */
        if (e->life.attempt.running && (e->run || e->life.attempt.to == DRIVER_NONE))
                report_unplugged(e, switch_run_step(e->run));
        if (e->request.number)
                bus_request_done(e, UASD_EXIT_NO_DISK, "", "the disk was unplugged");
        lease_gone(e);
        bus_disk_removed(e);
        trouble_gone(e);
        TAILQ_REMOVE(&m->entries, e, link);
        m->n_entries--;
        memcpy(port, e->life.disk.facts.port, sizeof(port));
        entry_free(e);
        (void) attachments_prune(&m->roots, port);
        keepoff_schedule(m); /* its trial has ended */
        kmsg_arm(m);
}

static int entry_on_unbound(sd_event_source *s, usec_t usec, void *data)
{
        const struct entry *e = data;

        queue_rescan(e->manager, e->life.disk.facts.interface);
        return 0;
}

/*
 * libkmod loads libcrypto, which takes as long as all else up to a switch. On a slow machine that
 * is a large part of delay_use. At the first plug-in udev loads usb-storage, and the new interface
 * has no driver yet. So the module is looked for then, once.
 */
static void module_look_ahead(struct entry *e)
{
        const struct facts *f = &e->life.disk.facts;

        if (e->module_looked || !f->caps.uas || !f->caps.bot)
                return;
        if (uas_module_state(&e->manager->roots, e->manager->config.module, &e->module_seen) < 0)
                e->module_seen = UAS_MODULE_UNKNOWN;
        e->module_looked = true;
}

static void module_complete(struct entry *e, struct facts *f)
{
        enum uas_module ahead = e->module_seen;

        e->module_seen = UAS_MODULE_UNKNOWN;
        e->module_looked = true;
        if (ahead != UAS_MODULE_UNKNOWN && f->driver == DRIVER_USB_STORAGE)
                facts_take_module(f, ahead);
        else
                facts_complete_module(&e->manager->roots, e->manager->config.module, f);
}

static void entry_note_unbound(struct entry *e, struct facts *f)
{
        usec_t now = now_boottime(), until = 0;

        if (f->driver != DRIVER_NONE)
                e->unbound = sd_event_source_disable_unref(e->unbound);
        else if (!e->unbound)
                (void) sd_event_add_time(e->manager->event, &e->unbound, CLOCK_BOOTTIME,
                                         now + UNBOUND_USEC, 0, entry_on_unbound, e);
        if (e->unbound)
                (void) sd_event_source_get_time(e->unbound, &until);
        if (now < until)
                f->just_unbound = true;
        else if (f->caps.uas && (f->driver == DRIVER_NONE || f->driver == DRIVER_USB_STORAGE))
                module_complete(e, f);
}

static void entry_take_disk(struct entry *e, struct usb_disk *d, struct attachment_mark *ret_mark)
{
        struct manager *m = e->manager;
        struct disk *disk = &e->life.disk;

        record_complete(e, &d->facts);
        if (!disk->facts.interface[0] ||
            disk->facts.driver != d->facts.driver) /* a trial may have begun, or ended */
                keepoff_schedule(m);
        keepoff_see(e, &d->facts);
        if (m->looked && keepoff_review(m, &d->facts)) /* at the start once for all disks */
                record_complete(e, &d->facts);
        trouble_judge(e, &d->facts);
        entry_note_unbound(e, &d->facts);
        disk->facts = d->facts;
        memcpy(disk->host, d->host, sizeof(disk->host));
        luns_free(disk->luns, disk->n_luns);
        disk->luns = TAKE_PTR(d->luns);
        disk->n_luns = d->n_luns;
        d->n_luns = 0;
        if (mark_read(e, &disk->facts, ret_mark) >= 0) {
                e->life.attempt.tried = ret_mark->tried;
                e->life.attempt.last = ret_mark->switched_to;
                e->told = ret_mark->told;
        }
}

static void entry_learn_hold(struct entry *e)
{
        struct event hold = {.type = EVENT_HOLD};
        usec_t now = now_boottime();
        bool held = hold_in_force(&e->manager->roots, &e->life.disk.facts, now, &hold.deadline);

        if (held == e->life.hold.active)
                return;
        if (!held)
                hold.type = EVENT_RELEASED;
        else if (!e->life.attempt
                          .running) /* the hold of a switch under way is part of the switch */
                report_hold(e);
        learn(&e->life, &hold, now);
}

/* Writes the facts whose change makes a signal on the bus: a rescan for every uevent must not wake
 * all clients. */
#define SNAPSHOT_MAX 512
static void disk_take_snapshot(const struct disk *d, char ret[static SNAPSHOT_MAX])
{
        char names[SNAPSHOT_MAX / 2];

        (void) snprintf(ret, SNAPSHOT_MAX, "%i %i %i %zu %s %s", (int) d->facts.driver,
                        (int) d->facts.policy, d->facts.trouble != NULL, d->n_luns, d->host,
                        luns_names(d->luns, d->n_luns, names, sizeof(names)));
}

/* The machine of a new disk is stepped once, when all of this is known. */
static void entry_adopt(struct entry *e, const struct attachment_mark *mark)
{
        e->life.cancelled = mark->cancelled; /* only now: it may not be on record later */
        inhibit_adopt(e);
        switch_adopt(e, mark->untold);
        trouble_adopt(e);
        lease_adopt(e, mark->lease);
        take_adopt(e, mark->taken_by);
}

/* how: EVENT_SCANNED or EVENT_AGAIN */
static void rescan_how(struct manager *m, const char *name, enum event_type how)
{
        /* a copy: the name may be in the entry, which may be freed */
        char interface[INTERFACE_NAME_MAX];
        struct entry *e = disk_find(m, name);
        _cleanup_(usb_disk_done) struct usb_disk d = {0};
        struct attachment_mark mark = {};
        char before[SNAPSHOT_MAX] = "", after[SNAPSHOT_MAX];
        bool new, same;
        int r;

        assert(m->queue.draining);
        (void) copy_string(interface, sizeof(interface), name);
        r = usb_disk_read(&m->roots, interface, false, &d);
        if (r < 0 && r != -ENODEV)
                return;
        if (r <= 0)
                strings_drop(m, interface);
        same = e && r > 0 && facts_same_attachment(&e->life.disk.facts, &d.facts);
        /* The kernel uses the number of a host again. Records about it are read before it becomes
         * that of another disk. */
        if (!same || !streq(e->life.disk.host, d.host))
                kmsg_drain(m);
        /* Another device at the same port gets a new entry. */
        if (e && !same) {
                entry_gone(e);
                e = NULL;
        }
        new = !e;
        if (r <= 0 ||
            (new && !strings_known(m, &d.facts))) /* strings.c posts a rescan when it has them */
                return;
        if (new && !(e = entry_new(m)))
                return;
        if (!new) {
                disk_take_snapshot(&e->life.disk, before);
                /* Read once and kept as long as the device is there: while the disk hangs, the
                 * device does not answer. */
                facts_copy_strings(&e->life.disk.facts, &d.facts);
        }
        entry_take_disk(e, &d, &mark);
        if (e->life.watched) /* a new partition table has brought new nodes */
                use_watch_nodes(e);
        if (new)
                entry_adopt(e, &mark);
        kmsg_arm(m);
        entry_learn_hold(e);
        entry_step(e, &(struct event){.type = new ? EVENT_SCANNED : how});
        disk_take_snapshot(&e->life.disk, after);
        if (new || !streq(before, after))
                request_trim_look(e);
        if (new) {
                bus_disk_added(e);
                trouble_came(e);
                event_hooks_link(e);
        } else if (!streq(before, after))
                bus_disk_changed(e);
        if (e->life.disk.facts.just_unbound) /* clients have the new disk already */
                module_look_ahead(e);
}

void rescan_disk(struct manager *m, const char *interface)
{
        rescan_how(m, interface, EVENT_SCANNED);
}

void rescan_again(struct entry *e)
{
        rescan_how(e->manager, e->life.disk.facts.interface, EVENT_AGAIN);
}

void rescan_all(struct manager *m)
{
        _cleanup_strv_ char **names = NULL;

        /* Backwards: a device that has replaced another one is behind them. */
        for (struct entry *e = TAILQ_LAST(&m->entries, entry_list), *before; e; e = before) {
                before = TAILQ_PREV(e, entry_list, link);
                rescan_disk(m, e->life.disk.facts.interface);
        }
        (void) usb_disk_enumerate(&m->roots, &names);
        for (char **n = names; n && *n; n++)
                if (!disk_find(m, *n))
                        rescan_disk(m, *n);
}
