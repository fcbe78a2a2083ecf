/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <poll.h>

#include "sys/marks.h"
#include "switch/transaction.h"

#define LOOK_AGAIN_MSEC 200 /* where no udev tells */

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
static bool all_back(struct transaction *t, const struct usb_disk *now, const uint64_t *done, size_t n_done)
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
        if (!udev_runs(t))
                return true;
        for (size_t k = 0; k < now->n_luns; k++) {
                bool processed = !now->luns[k].disk.name[0];

                for (size_t i = 0; i < n_done && !processed; i++)
                        processed = done[i] == now->luns[k].diskseq;
                if (!processed)
                        return false;
        }
        return true;
}

int wait_for_disks(struct transaction *t, uint64_t deadline)
{
        uint64_t done[64];
        size_t n_done = 0;

        for (;;) {
                struct usb_disk now = { 0 };
                struct uevent e;
                bool back;
                int r = usb_disk_read(&t->roots, t->interface, false, &now);

                if (r == -ENODEV || r == 0)
                        return -ENODEV;
                back = r > 0 && all_back(t, &now, done, n_done);
                usb_disk_done(&now);
                if (back)
                        return 0;
                if (now_boottime() >= deadline)
                        return -ETIMEDOUT;
                if (driver_now(t) == DRIVER_NONE)
                        return -ENODEV;
                (void) poll(&(struct pollfd){ t->events ? uevents_fd(t->events) : -1, POLLIN, 0 }, 1, LOOK_AGAIN_MSEC);
                while (t->events && (r = uevents_next(t->events, &e)) != 0)
                        if (r > 0 && n_done < ELEMENTSOF(done) && streq(e.interface, t->interface) &&
                            streq(e.devtype, "disk") && !streq(e.action, "remove"))
                                done[n_done++] = e.diskseq;
        }
}
