/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <poll.h>
#include <sys/param.h>

#include "common/gettext.h"
#include "common/names.h"
#include "switch/appear.h"
#include "switch/signals.h"
#include "switch/transaction.h"
#include "sys/io/clock.h"
#include "sys/io/sysfs.h"
#include "sys/platform/udevd.h"
#include "sys/state/switch-record.h"
#include "sys/udev/udevdb.h"

#define LOOK_AGAIN_MSEC 200 /* without udev's events, which end the wait sooner */
/* uas has its disks in 0.2 s; the rest of a hold may be shorter */
#define FAIR_USEC (2 * USEC_PER_SEC)
#define DELAY_MOST_USEC (120 * USEC_PER_SEC) /* a longer wait for a disk is no use */
/* in this time `ahead` is rolled back, and the kernel continues with this disk */
#define BEHIND_USEC (2 * USEC_PER_SEC)

static bool events_expected(const struct transaction *t)
{
        return t->events && (t->hold.awaited || udevd_runs(&t->roots));
}

/* The block devices that events have announced since the switch listens, by name. */
struct announced {
        char names[64][BLOCK_NAME_MAX];
        size_t n;
        bool lost; /* some events are missing here */
};

/* udev's record is of this instance if it is younger than the switch: the record of the former
 * instance was removed with it. */
static bool block_is_recorded(const struct transaction *t, const struct block *b)
{
        usec_t usec;
        char id[32];

        (void) snprintf(id, sizeof(id), "b%u:%u", b->major, b->minor);
        return udevdb_initialized(&t->roots, id, &usec) > 0 && usec >= t->before.began.usec;
}

static bool announced_has(const struct transaction *t, const struct announced *announced,
                          const struct block *b)
{
        for (size_t i = 0; i < announced->n; i++)
                if (streq(announced->names[i], b->name))
                        return true;
        /* The kernel has no record of its announcements. But a device that sysfs shows can be
         * opened soon. */
        return announced->lost && (t->hold.awaited || block_is_recorded(t, b));
}

/* Waits at most `msec` for events and adds them to `announced`. */
static void announced_listen(struct transaction *t, int msec, struct announced *announced)
{
        struct uevent e;
        int r;

        (void) poll(&(struct pollfd){t->events ? uevents_fd(t->events) : -1, POLLIN, 0}, 1, msec);
        while (t->events && (r = uevents_next(t->events, &e)) != 0) {
                if (r < 0 && r != -ENOBUFS)
                        break;
                if (r < 0 || announced->n == ELEMENTSOF(announced->names)) {
                        announced->lost = true;
                        continue;
                }
                if (!streq(e.interface, t->interface) || !streq(e.subsystem, "block"))
                        continue;
                if (streq(e.action, "remove")) { /* an earlier disk of that name */
                        for (size_t i = 0; i < announced->n; i++)
                                if (streq(announced->names[i], e.name))
                                        announced->names[i][0] = '\0';
                } else
                        (void) copy_string(announced->names[announced->n++], BLOCK_NAME_MAX,
                                           e.name);
        }
}

static const struct lun *lun_numbered(const struct usb_disk *d, unsigned number)
{
        for (size_t i = 0; i < d->n_luns; i++)
                if (d->luns[i].lun == number)
                        return d->luns + i;
        return NULL;
}

/* Returns true if the LUN was there all along: no event announces it again. */
static bool lun_stayed(const struct transaction *t, const struct lun *l)
{
        const struct lun *old = lun_numbered(&t->disk, l->lun);

        return old && l->diskseq != 0 && l->diskseq == old->diskseq;
}

/* Returns true if all LUNs that had a disk have one again. If no LUN had one, one disk on the first
 * LUN is enough. */
static bool all_back(struct transaction *t, const struct usb_disk *now)
{
        size_t expected = 0;

        for (size_t i = 0; i < t->disk.n_luns; i++) {
                const struct lun *l = lun_numbered(now, t->disk.luns[i].lun);

                if (!t->disk.luns[i].disk.name[0])
                        continue;
                expected++;
                if (!l || !l->disk.name[0])
                        return false;
        }
        /* If a switch was killed, it may have deleted some before `disk` was read. */
        if (luns_with_disk(now->luns, now->n_luns) < t->before.n_disks)
                return false;
        return expected > 0 || (now->n_luns > 0 && now->luns[0].disk.name[0]);
}

/* A process that claims a disk before the kernel has read its partition table prevents that: the
 * disk shows no partitions. */
static bool partitions_back(const struct transaction *t, const struct lun *l)
{
        const struct lun *old = lun_numbered(&t->disk, l->lun);

        return !old || l->n_parts >= old->n_parts;
}

static bool all_announced(const struct transaction *t, const struct usb_disk *now,
                          const struct announced *announced)
{
        for (size_t k = 0; events_expected(t) && k < now->n_luns; k++) {
                const struct lun *l = &now->luns[k];

                if (!l->disk.name[0] || lun_stayed(t, l))
                        continue;
                if (!announced_has(t, announced, &l->disk) ||
                    (announced->lost && !partitions_back(t, l)))
                        return false;
        }
        return true;
}

/* Returns true if another switch moves this interface, it has a driver, and the kernel shows no LUN
 * of it yet. */
static bool being_scanned(const struct transaction *t, const char *interface)
{
        _cleanup_(usb_disk_done) struct usb_disk d = {0};

        if (streq(interface, t->interface) || !switch_recorded(&t->roots, interface))
                return false;
        return usb_disk_read(&t->roots, interface, false, &d) > 0 &&
               d.facts.driver != DRIVER_NONE && d.n_luns == 0;
}

/*
 * The kernel shows disks in the order in which it began to probe them. So a disk that hangs in its
 * first INQUIRY delays all disks that were bound after it. When one disk of a mirror hung on uas,
 * both were late, and uasd blamed both.
 */
void look_ahead(struct transaction *t)
{
        char **names = NULL;

        (void) usb_disk_enumerate(&t->roots, &names);
        for (char **n = names; n && *n && !t->scan.ahead[0]; n++)
                if (being_scanned(t, *n))
                        (void) copy_string(t->scan.ahead, sizeof(t->scan.ahead), *n);
        strv_free(names);
}

const char *why_late(const struct transaction *t)
{
        if (awake_since(t->scan.since) < FAIR_USEC)
                return N_("this machine was too slow to wait for it");
        if (t->scan.behind.usec != 0 && awake_since(t->scan.behind) < BEHIND_USEC)
                return N_("the kernel was at another one, which was bound before it");
        return NULL;
}

/* The parameter of usb-storage is in seconds, or, since Linux 6.12, perhaps in milliseconds: "5",
 * "1500ms". */
usec_t scan_delay(const struct transaction *t, enum driver d)
{
        char text[16], *unit;
        usec_t delay;

        if (d != DRIVER_USB_STORAGE ||
            attr_read(t->roots.sys, SYSFS_DELAY_USE, text, sizeof(text)) <= 0)
                return 0;
        delay = strtoul(text, &unit, 10);
        delay *= streq(unit, "ms") ? USEC_PER_MSEC : USEC_PER_SEC;
        return MIN(delay, DELAY_MOST_USEC);
}

/* Returns the rest of a budget, usec. *haste: the end of a shorter budget, which begins when a
 * signal is first seen to wait. */
static usec_t appear_left(struct awake deadline, struct awake *haste)
{
        usec_t usec = awake_left(deadline), less;

        if (haste->usec == 0 && signal_waits())
                *haste = awake_in(HASTE_BUDGET);
        if (haste->usec == 0)
                return usec;
        less = awake_left(*haste);
        return MIN(less, usec);
}

int wait_for_disks(struct transaction *t, struct awake deadline,
                   void (*idle)(struct transaction *t))
{
        struct announced announced = {.n = 0};
        struct awake haste = {0};

        for (;;) {
                _cleanup_(usb_disk_done) struct usb_disk now = {0};
                struct awake before = now_awake();
                bool back;
                int r = usb_disk_read(&t->roots, t->interface, false, &now);

                if (r == -ENODEV || r == 0 || (r > 0 && !attachment_same(t, &now.facts)))
                        return -ENODEV;
                if (r > 0 && luns_with_disk(now.luns, now.n_luns) == 0) {
                        t->hold.unseen = before;
                        if (t->scan.ahead[0] && being_scanned(t, t->scan.ahead))
                                t->scan.behind = before;
                }
                back = r > 0 && all_back(t, &now);
                t->blame.answered = t->blame.answered || back;
                if (back && all_announced(t, &now, &announced))
                        return 0;
                if (appear_left(deadline, &haste) == 0)
                        return back ? -EINPROGRESS : -ETIMEDOUT;
                if (usb_disk_driver(&t->roots, t->interface) == DRIVER_NONE)
                        return -ENODEV;
                if (idle)
                        idle(t);
                announced_listen(t, LOOK_AGAIN_MSEC, &announced);
        }
}

static bool all_announced_with_parts(const struct transaction *t, const struct usb_disk *now,
                                     const struct announced *announced)
{
        for (size_t i = 0; i < now->n_luns; i++) {
                if (!now->luns[i].disk.name[0])
                        continue;
                if (!announced_has(t, announced, &now->luns[i].disk))
                        return false;
                for (size_t p = 0; p < now->luns[i].n_parts; p++)
                        if (!announced_has(t, announced, &now->luns[i].parts[p]))
                                return false;
        }
        return true;
}

void wait_for_udev(struct transaction *t, struct awake deadline)
{
        struct announced announced = {.n = 0};
        bool done = !events_expected(t);

        while (!done && awake_left(deadline) > 0) {
                _cleanup_(usb_disk_done) struct usb_disk now = {0};

                announced_listen(t, LOOK_AGAIN_MSEC, &announced);
                done = usb_disk_read(&t->roots, t->interface, false, &now) <= 0 ||
                       all_announced_with_parts(t, &now, &announced);
        }
}
