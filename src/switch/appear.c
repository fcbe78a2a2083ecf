/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <poll.h>

#include "sys/marks.h"
#include "sys/udevdb.h"
#include "switch/transaction.h"

#define LOOK_AGAIN_MSEC 200 /* where no udev tells */

/* What udev has told of, by diskseq. */
struct told {
        uint64_t done[64];
        size_t n;
        bool lost; /* it may have told of more than we have heard */
};

/* Its own record says whether it has seen this instance: that of the one before went with it. */
static bool recorded(const struct transaction *t, const struct block *b)
{
        uint64_t ago = now_boottime() - t->began, now = now_monotonic(), usec;
        char id[32];

        (void) snprintf(id, sizeof(id), "b%u:%u", b->major, b->minor);
        return udevdb_initialized(&t->roots, id, &usec) > 0 && usec + ago >= now;
}

static bool processed(const struct transaction *t, const struct lun *l, const struct told *told)
{
        for (size_t i = 0; i < told->n; i++)
                if (told->done[i] == l->diskseq)
                        return true;
        return told->lost && recorded(t, &l->disk);
}

static bool udev_runs(const struct transaction *t)
{
        return t->events && faccessat(t->roots.run, "udev/control", F_OK, 0) == 0;
}

size_t disks_count(const struct usb_disk *d)
{
        size_t n = 0;

        for (size_t i = 0; i < d->n_luns; i++)
                n += d->luns[i].disk.name[0] != '\0';
        return n;
}

/* Which LUNs are to come back: those that had a disk; any one if there was none yet. */
static bool all_back(struct transaction *t, const struct usb_disk *now)
{
        size_t expected = 0;

        for (size_t i = 0; i < t->disk.n_luns; i++) {
                const struct lun *old = &t->disk.luns[i];
                bool found = false;

                if (!old->disk.name[0])
                        continue;
                expected++;
                for (size_t k = 0; k < now->n_luns && !found; k++)
                        found = now->luns[k].lun == old->lun && now->luns[k].disk.name[0];
                if (!found)
                        return false;
        }
        /* Where a switch was killed, some may have been gone already. */
        if (disks_count(now) < t->n_disks)
                return false;
        if (expected == 0 && (now->n_luns == 0 || !now->luns[0].disk.name[0]))
                return false;
        return true;
}

static bool udev_is_done(const struct transaction *t, const struct usb_disk *now, const struct told *told)
{
        for (size_t k = 0; udev_runs(t) && k < now->n_luns; k++)
                if (now->luns[k].disk.name[0] && !processed(t, &now->luns[k], told))
                        return false;
        return true;
}

int wait_for_disks(struct transaction *t, uint64_t deadline)
{
        struct told told = { 0 };

        for (;;) {
                struct usb_disk now = { 0 };
                struct uevent e;
                bool back, done;
                int r = usb_disk_read(&t->roots, t->interface, false, &now);

                if (r == -ENODEV || r == 0)
                        return -ENODEV;
                back = r > 0 && all_back(t, &now);
                done = back && udev_is_done(t, &now, &told);
                usb_disk_done(&now);
                if (done)
                        return 0;
                if (now_boottime() >= deadline)
                        return back ? -EINPROGRESS : -ETIMEDOUT;
                if (driver_now(t) == DRIVER_NONE)
                        return -ENODEV;
                (void) poll(&(struct pollfd){ t->events ? uevents_fd(t->events) : -1, POLLIN, 0 }, 1, LOOK_AGAIN_MSEC);
                while (t->events && (r = uevents_next(t->events, &e)) != 0) {
                        if (r < 0 && r != -ENOBUFS)
                                break;
                        if (r < 0 || told.n == ELEMENTSOF(told.done))
                                told.lost = true;
                        else if (streq(e.interface, t->interface) && streq(e.devtype, "disk") && !streq(e.action, "remove"))
                                told.done[told.n++] = e.diskseq;
                }
        }
}
