/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "hold/settle.h"
/* Waits until no disk is about to change its driver, for programs that do not honour a hold. */
#include <unistd.h>

#include "common/names.h"
#include "common/util.h"
#include "hold/early.h"
#include "hold/hold.h"
#include "sys/io/boot.h"
#include "sys/io/clock.h"
#include "sys/state/attachment.h"
#include "sys/state/switch-record.h"
#include "sys/udev/udevdb.h"
#include "sys/usb/usbdisk.h"

#define PAUSE_USEC (20 * USEC_PER_MSEC)

enum progress {
        PROGRESS_STAYS, /* also without a disk */
        PROGRESS_TRIED, /* in the initramfs */
        PROGRESS_OPEN,
};

/*
 * A disk without a mark in the record of its interface may have its event before it. With a driver
 * it is not moved before that. A disk that never gets a driver has no block device, and root is on
 * another one.
 */
static enum progress settle_progress_in_initramfs(const struct roots *roots,
                                                  const struct usb_disk *d)
{
        struct attachment_mark m = {};
        char asked[8];

        if (switch_recorded(roots, d->facts.interface))
                return PROGRESS_OPEN;
        if (d->facts.driver != DRIVER_NONE &&
            udevdb_property(roots, path_join("+usb:", d->facts.interface), PROP_ASKED, asked,
                            sizeof(asked)) <= 0)
                return PROGRESS_OPEN;
        (void) attachment_read(roots, &d->facts, &m);
        return m.early ? PROGRESS_TRIED : PROGRESS_STAYS;
}

/* After a hold or a switch, udev has to announce the disk before it has its links. */
static enum progress settle_progress_in_boot(const struct roots *roots, const struct usb_disk *d)
{
        if (switch_at_work(roots, d->facts.interface) ||
            hold_in_force(roots, &d->facts, now_boottime(), NULL))
                return PROGRESS_OPEN;
        for (size_t i = 0; i < d->n_luns; i++)
                FOREACH_NODE (b, d->luns + i)
                        if (block_known_as(roots, b) != KNOWN_AS_READY)
                                return PROGRESS_OPEN;
        return PROGRESS_STAYS;
}

/* Returns the progress of the disk that is not ready for the longest time; or -errno. */
static int settle_progress(const struct roots *roots)
{
        _cleanup_strv_ char **interfaces = NULL;
        int n = usb_disk_enumerate(roots, &interfaces), all = n < 0 ? n : 0;
        bool initramfs = in_initramfs(roots);

        for (int i = 0; i < n; i++) {
                _cleanup_(usb_disk_done) struct usb_disk d = {0};
                enum progress p;

                /* on failure it has neither */
                (void) usb_disk_read(roots, interfaces[i], false, &d);
                if (!d.facts.caps.bot || !d.facts.caps.uas)
                        continue;
                p = initramfs ? settle_progress_in_initramfs(roots, &d)
                              : settle_progress_in_boot(roots, &d);
                if ((int) p > all)
                        all = (int) p;
        }
        return all;
}

int hold_settle(const struct roots *roots, usec_t budget)
{
        usec_t end = now_boottime() + budget;
        int r;

        if (hold_forbidden(roots))
                return 0;
        while ((r = settle_progress(roots)) == PROGRESS_OPEN) {
                if (now_boottime() >= end)
                        return -ETIMEDOUT;
                (void) usleep(PAUSE_USEC);
        }
        if (r < 0)
                return r;
        return r == PROGRESS_TRIED;
}
