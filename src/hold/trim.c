/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "hold/trim.h"

#include "common/names.h"
#include "common/util.h"
#include "core/config.h"
#include "sys/io/boot.h"
#include "sys/state/trims.h"
#include "sys/udev/udevdb.h"

#define OFF "full" /* sd's name for a fully provisioned disk */
#define ON "unmap"

/* udev's record disappears with the block device, so a disk that comes back is new, on either driver. */
static bool set_before(const struct roots *r, const struct block *b)
{
        char id[32], set[8];

        (void) snprintf(id, sizeof(id), "b%u:%u", b->major, b->minor);
        return udevdb_property(r, id, PROP_TRIM_SET, set, sizeof(set)) > 0 && streq(set, "1");
}

void trim_ask(const struct roots *r, const struct usb_disk *d, const struct lun *l, struct trim_answer *ret)
{
        struct trim_answer a = {};
        char now[TRIM_MODE_MAX];
        uint64_t max = 0;

        *ret = a;
        /* TRIM is not needed in an initramfs, and the root file system's udev asks again. */
        if (in_initramfs(r) || cmdline_has(r, CMDLINE_OFF))
                return;
        a.on = trims_lookup(r, &d->facts, l->lun, &max) > 0;
        a.set = set_before(r, &l->disk);
        if (!a.on && !a.set)
                return;
        trim_read_mode(r, l->disk.name, now);
        if (a.on && streq(now, OFF)) {
                a.mode = ON;
                a.max_bytes = max;
                a.set = true;
        } else if (!a.on) {
                a.mode = streq(now, ON) ? OFF : NULL;
                a.set = false;
        }
        *ret = a;
}
