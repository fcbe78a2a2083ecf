/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>

#include "common/names.h"
#include "common/util.h"
#include "fake.h"
#include "sys/state/switch-record.h"
#include "wraps.h"

/*
 * The uevents of the kernel, and what udev does with them: a worker for each disk, which keeps it
 * open until it has finished. REACTIONS lists what is assumed here;
 * tests/vm/cases/reactions_udev.py compares it with the udev of systemd 252 and 257.
 */

#define ANNOUNCE_USEC (5 * USEC_PER_MSEC) /* the kernel reads the partition table before */
#define GONE_USEC (20 * USEC_PER_MSEC)
#define LOCKED_USEC (200 * USEC_PER_MSEC) /* systemd's udevd: EVENT_RETRY_INTERVAL_USEC */
#define NOT_YET UINT64_MAX

static struct fake_event *add(const struct fake_usb *u, const struct fake_lun *l,
                              const struct fake_node *n, bool remove, bool processed)
{
        struct fake_event *e = &fake->events[0];

        for (unsigned i = 0; i < ELEMENTSOF(fake->events) && e->name[0]; i++)
                e = fake->events[i].name[0] && fake->events[i].number > e->number
                            ? e
                            : &fake->events[i];
        *e = (struct fake_event){
                .number = ++fake->n_events, .remove = remove, .processed = processed};
        e->due = processed ? NOT_YET : fake->clock + (remove ? 0 : ANNOUNCE_USEC);
        e->asked = fake->clock;
        e->diskseq = l->diskseq;
        e->letter = l->letter;
        e->minor = n->minor;
        (void) copy_string(e->name, sizeof(e->name), n->name);
        (void) copy_string(e->interface, sizeof(e->interface), u->interface);
        return e;
}

static bool whole(const struct fake_event *e)
{
        return e->name[3] == '\0';
}

static struct fake_node *node_of(const struct fake_event *e)
{
        struct fake_lun *l = NULL;
        struct fake_node *n = kernel_node(e->name, NULL, &l);

        return n && l->diskseq == e->diskseq ? n : NULL;
}

/* announced_when_ready (k block/genhd.c:disk_uevent): the disk, then its partitions, when all of
 * them can be opened. */
void udev_adds(const struct fake_usb *u, const struct fake_lun *l)
{
        for (unsigned i = 0; i < l->n_nodes; i++) {
                (void) add(u, l, &l->nodes[i], false, false);
                (void) add(u, l, &l->nodes[i], false, true);
        }
        udev_passes();
}

/* announced_when_ready (k block/genhd.c:del_gendisk): the partitions go first. */
void udev_removes(const struct fake_usb *u, const struct fake_lun *l)
{
        for (unsigned n = 1; n <= l->n_nodes; n++) {
                (void) add(u, l, &l->nodes[n % l->n_nodes], true, false);
                (void) add(u, l, &l->nodes[n % l->n_nodes], true, true);
        }
        udev_passes();
}

void udev_triggers(const struct fake_usb *u, const struct fake_lun *l, const struct fake_node *n)
{
        add(u, l, n, false, false)->due = fake->clock;
        add(u, l, n, false, true)->triggered = true;
        udev_passes();
}

/* udev_keeps_order: returns the earlier event for whose end this one waits, of the same node, or of
 * the disk and its partition.
 */
static const struct fake_event *behind(const struct fake_event *e)
{
        for (unsigned i = 0; i < ELEMENTSOF(fake->events); i++) {
                const struct fake_event *o = &fake->events[i];

                if (o->processed && o->number < e->number &&
                    (o->due == NOT_YET || o->due > e->asked) &&
                    (streq(o->name, e->name) ||
                     (o->diskseq == e->diskseq && (whole(o) || whole(e)))))
                        return o;
        }
        return NULL;
}

/* udev_waits_for_lock: a process has the lock of the disk. */
static bool locked(const struct fake_event *e)
{
        char path[96];
        bool yes;
        int fd;

        (void) snprintf(path, sizeof(path), "%s/dev/%.3s", fake->path, e->name);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        yes = fd >= 0 && __real_flock(fd, LOCK_SH | LOCK_NB) < 0;
        (void) close_keep_errno(fd);
        return yes;
}

/* The rules run, and with them udev's helper (uasd-hold), which asks whether the disk is held. */
static void runs_rules(struct fake_event *e, uint64_t from)
{
        struct fake_node *n = node_of(e);

        e->due = from + fake->udev_usec;
        for (unsigned u = 0; u < fake->n_usb; u++)
                if (n && streq(fake->usb[u].interface, e->interface))
                        n->held = rule_holds(&fake->usb[u]);
}

/* A partition without a mark inherits the answer (udev/59-uasd-hold.rules.in). */
static bool asks_helper(const struct fake_event *e)
{
        return whole(e) || tree_exists("run/" RUN_HOLD "/%s", e->interface);
}

/* A worker begins with the event. */
static void begins(struct fake_event *e)
{
        struct fake_node *n = node_of(e);

        if (e->remove ||
            !n) { /* the disk is gone: no program and no probe of the rules has anything to do */
                e->due = e->asked + GONE_USEC;
                return;
        }
        if (locked(e)) {
                e->asked += LOCKED_USEC;
                return;
        }
        e->open = true;
        /* waits_for_the_switch (hold/hold.c): udev's helper does not return while the disk is about
         * to be tried. */
        e->waits = asks_helper(e) && switch_awaited(&fake->roots, e->interface);
        if (!e->waits)
                runs_rules(e, e->asked);
}

/* udev_records_first: the records in /run/udev/data. They are written only where a test reads them.
 */
static void records(struct fake_event *e)
{
        char text[48];

        e->recorded = true;
        if (!fake->lost_events)
                return;
        (void) snprintf(text, sizeof(text), "I:%llu\nG:systemd\n",
                        (unsigned long long) (e->due - fake->slept));
        if (e->remove)
                tree_remove("run/udev/data/b8:%u", e->minor);
        else if (node_of(e))
                tree_write(text, "run/udev/data/b8:%u", e->minor);
}

/* The events with which udev can go on. Returns true if there may be more of them. */
static bool passes(bool awaited)
{
        bool more = false;

        for (unsigned i = 0; i < ELEMENTSOF(fake->events); i++) {
                struct fake_event *e = &fake->events[i];
                const struct fake_event *o;

                if (!e->processed || e->recorded || (e->due == NOT_YET && e->asked > fake->clock))
                        continue;
                if (e->waits && (!awaited || fake->clock >= e->asked + AWAIT_USEC)) {
                        e->waits = false;
                        runs_rules(e, fake->clock);
                } else if (e->due == NOT_YET && !e->waits && !(o = behind(e))) {
                        begins(e);
                        more = true;
                } else if (e->due == NOT_YET && !e->waits && o->due <= fake->clock) {
                        e->asked = o->due;
                        more = true;
                }
                if (e->due <= fake->clock)
                        records(e);
        }
        return more;
}

static bool any_waits(void)
{
        for (unsigned i = 0; i < ELEMENTSOF(fake->events); i++)
                if (fake->events[i].waits &&
                    switch_awaited(&fake->roots, fake->events[i].interface))
                        return true;
        return false;
}

void udev_passes(void)
{
        if (fake->udev_deaf)
                return;
        while (passes(any_waits()))
                ;
}

/* udev_keeps_open (v 7): a worker that has a disk open keeps its letter in use, also when the disk
 * is gone. */
bool udev_has_open(int letter)
{
        for (unsigned i = 0; i < ELEMENTSOF(fake->events); i++)
                if (fake->events[i].open && fake->events[i].letter == letter &&
                    fake->events[i].due > fake->clock && !node_of(&fake->events[i]))
                        return true;
        return false;
}

/* udev_keeps_lock: a worker has the lock of the whole disk, also when it processes a partition. */
bool udev_has_lock(const char *name)
{
        struct fake_lun *l;

        for (unsigned i = 0; kernel_node(name, NULL, &l) && i < ELEMENTSOF(fake->events); i++)
                if (fake->events[i].open && fake->events[i].diskseq == l->diskseq &&
                    fake->events[i].due > fake->clock)
                        return true;
        return false;
}

bool udev_not_announced(void)
{
        for (unsigned i = 0; i < ELEMENTSOF(fake->events); i++)
                if (!fake->events[i].processed && !fake->events[i].remove &&
                    fake->events[i].due > fake->clock && node_of(&fake->events[i]))
                        return true;
        return false;
}

bool udev_has_finished(const struct fake_lun *l)
{
        for (unsigned i = 0; i < ELEMENTSOF(fake->events); i++)
                if (fake->events[i].processed && !fake->events[i].remove &&
                    !fake->events[i].triggered && whole(&fake->events[i]) &&
                    fake->events[i].diskseq == l->diskseq && fake->events[i].due > fake->clock)
                        return false;
        return true;
}

static bool busy(void)
{
        for (unsigned i = 0; i < ELEMENTSOF(fake->events); i++)
                if (fake->events[i].processed && fake->events[i].due > fake->clock)
                        return true;
        return false;
}

/* A process that keeps the lock of a disk keeps udev from its events. */
void udev_settles(void)
{
        uint64_t end = fake->clock + 60 * USEC_PER_SEC;

        while (busy() && !fake->udev_deaf && fake->clock < end)
                kernel_pass(10 * USEC_PER_MSEC);
}

struct fake_event *udev_due(bool processed, uint64_t since)
{
        struct fake_event *first = NULL;

        udev_passes();
        for (unsigned i = 0; i < ELEMENTSOF(fake->events); i++) {
                struct fake_event *e = &fake->events[i];

                if (e->name[0] && !e->told && e->processed == processed && e->due <= fake->clock &&
                    e->due >= since && (!first || e->number < first->number))
                        first = e;
        }
        return first;
}
