/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <fcntl.h>
#include <poll.h>

#include "common/names.h"
#include "switch/record.h"
#include "switch/remove.h"
#include "switch/transaction.h"
#include "switch/undo-claim.h"
#include "sys/io/clock.h"
#include "sys/io/sysfs.h"
#include "sys/usb/usbdisk.h"

/*
 * The rule protects a LUN from `delete`, an interface from `unbind`, and a USB device from
 * `remove`. Each block device below the interface must be claimed, or absent, or offline without a
 * user. "Absent" means: no SCSI device, or one whose type never gets a block device. An error in
 * this check counts as "in use". Only this file writes these attributes (tools/check-layers), and
 * it applies the rule immediately before each write, also on the way back.
 */

#define FILES_BUDGET (2 * USEC_PER_SEC)
#define FILES_AGAIN_MSEC 20

/* Returns true for a LUN that got no block device in the time that the kernel had: no driver took
 * it, or the probe failed. */
static bool given_up(const struct transaction *t, const struct lun *l)
{
        for (size_t i = 0; i < t->disk.n_luns; i++)
                if (streq(t->disk.luns[i].scsi, l->scsi))
                        return lun_awaited(&t->disk.luns[i]) && !l->probing;
        return false;
}

static bool lun_claimed(const struct transaction *t, const struct lun *l)
{
        size_t i;

        if (t->undo.active)
                return undo_claim_has(t, l);
        return lun_among(l, t->disk.luns, t->disk.n_luns, &i) && claim_has(&t->claim, l->lun);
}

static bool lun_may_go(const struct transaction *t, const char *host, const struct lun *l)
{
        /* step_claim() and undo_claim_begin() have searched for users of a disk that is offline. */
        bool looked = t->offline || t->undo.active;

        if (l->disk.name[0])
                return lun_claimed(t, l) || (looked && lun_offline(t, host, l));
        /* On the way back wait_for_disks() has given the LUN its time. */
        return !lun_awaited(l) || t->undo.active || given_up(t, l);
}

/* Applies the rule to the present devices. dir: the interface's directory. Returns 0, -EBUSY, or
 * -ENODEV if it has gone. */
static int rule_check(const struct transaction *t, int dir)
{
        struct lun *luns = NULL;
        char host[16];
        size_t n = 0;
        int r = luns_read(dir, host, &luns, &n);

        if (r < 0)
                return -EBUSY;
        for (size_t i = 0; i < n && r >= 0; i++)
                r = lun_may_go(t, host, &luns[i]) ? 0 : -EBUSY;
        luns_free(luns, n);
        if (r < 0)
                return r;
        /* The directory of an interface that has gone is empty, and another disk may be at its
         * port. */
        return faccessat(dir, "bInterfaceClass", F_OK, 0) < 0 ? -ENODEV : 0;
}

int lun_delete(const struct transaction *t, int dir, size_t i, atomic_size_t *begun)
{
        const struct lun *l = &t->disk.luns[i];
        char path[128];
        int r = rule_check(t, dir);

        if (r == -ENODEV)
                return 0;
        if (r < 0)
                return r;
        assert(tx_moved(t) && t->recorded && !t->undo.active);
        assert(!l->disk.name[0] || claim_has(&t->claim, l->lun));
        atomic_store(begun, i + 1);
        r = attr_write(dir, lun_attribute(t->disk.host, l, "delete", path, sizeof(path)), "1");
        if (r == -ENOENT || r == -ENODEV)
                return 0;
        return r;
}

int interface_open(struct transaction *t)
{
        _cleanup_close_ int dir = -1;
        char path[128];
        int r;

        (void) snprintf(path, sizeof(path), SYSFS_USB_DEVICES "/%s", t->interface);
        dir = openat(t->roots.sys, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (dir < 0)
                return errno == ENOENT ? -ENODEV : -errno;
        r = record_check(t); /* the name does not say whose interface it is */
        if (r < 0)
                return r;
        return TAKE_FD(dir);
}

/* Opens the directory of the interface, and applies the rule. */
static int interface_may_go(struct transaction *t)
{
        _cleanup_close_ int dir = interface_open(t);
        int r;

        if (dir < 0)
                return dir;
        r = rule_check(t, dir);
        if (r < 0)
                return r;
        return TAKE_FD(dir);
}

static int driver_write(struct transaction *t, enum driver d, const char *file,
                        int (*check)(struct transaction *t))
{
        struct awake deadline = awake_in(FILES_BUDGET);
        char driver[48], path[64];

        (void) snprintf(driver, sizeof(driver), SYSFS_USB_DRIVERS "/%s", driver_to_string(d));
        (void) snprintf(path, sizeof(path), "%s/%s", driver, file);
        for (;;) {
                _cleanup_close_ int dir = check(t);
                int r = dir < 0 ? dir : attr_write(t->roots.sys, path, t->interface);

                /* A driver that is being registered binds what it finds before it gets its files
                 * (drivers/base/bus.c:bus_add_driver). */
                if (r != -ENOENT || faccessat(t->roots.sys, driver, F_OK, 0) < 0 ||
                    awake_left(deadline) == 0)
                        return r;
                (void) poll(NULL, 0, FILES_AGAIN_MSEC);
        }
}

int driver_bind(struct transaction *t, enum driver d)
{
        return driver_write(t, d, "bind", interface_open);
}

int driver_unbind(struct transaction *t, enum driver d)
{
        assert(tx_moved(t) && t->lock >= 0);
        return driver_write(t, d, "unbind", interface_may_go);
}

int device_remove(struct transaction *t)
{
        _cleanup_close_ int dir = -1;

        assert(t->recorded && t->lock >= 0);
        dir = interface_may_go(t);
        if (dir < 0)
                return dir;
        /* Relative to the interface that was checked: another device may be at its port by now. */
        return attr_write(dir, "../remove", "1");
}
