/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/gettext.h"
#include "common/log.h"
#include "common/names.h"
#include "common/sentence.h"
#include "switch/appear.h"
#include "switch/attach.h"
#include "switch/record.h"
#include "switch/remove.h"
#include "switch/signals.h"
#include "switch/transaction.h"
#include "switch/undo-claim.h"
#include "sys/io/clock.h"
#include "sys/io/sysfs.h"
#include "sys/quirks/param.h"

#define QUIRKS_BUDGET (10 * USEC_PER_SEC)
#define BACK_BUDGET (30 * USEC_PER_SEC)

static enum driver driver_now(const struct transaction *t)
{
        return usb_disk_driver(&t->roots, t->interface);
}

bool driver_registered(const struct transaction *t)
{
        char path[64];

        (void) snprintf(path, sizeof(path), SYSFS_USB_DRIVERS "/%s/bind", driver_to_string(t->to));
        return faccessat(t->roots.sys, path, F_OK, 0) == 0;
}

/* Waits only once: a disk without a driver cannot wait for a process that hangs while it has the
 * lock. */
static int lock_for_bind(struct transaction *t)
{
        int r = quirks_lock(&t->roots, t->quirks_hang ? 0 : QUIRKS_BUDGET);

        t->quirks_hang = t->quirks_hang || r == -ETIMEDOUT;
        return r;
}

void quirks_in_order(struct transaction *t)
{
        char entry[QUIRK_ENTRY_MAX];

        /* The next process that takes the lock removes the entry, too. There may be none for a long
         * time, so it is done here. */
        if (quirks_bind_read(&t->roots, entry) > 0)
                (void) close_keep_errno(lock_for_bind(t));
}

/* Returns 1 and the entry that the present quirks lack for the bind, 0 if they lack none, or
 * -errno. */
static int entry_needed(const struct transaction *t, enum driver d,
                        char ret[static QUIRK_ENTRY_MAX])
{
        char now[QUIRKS_MAX + 1];
        struct bridge b;
        int r;

        facts_bridge(&t->disk.facts, &b);
        r = quirks_param_read(&t->roots, now);
        if (r < 0)
                return r;
        return quirks_entry(now, &b, d, ret);
}

/* Adds the entry that the bind needs; the caller has the lock. Returns 0 also if it needs none. */
static int entry_push(struct transaction *t, enum driver d)
{
        char entry[QUIRK_ENTRY_MAX];
        int r = entry_needed(t, d, entry);

        if (r <= 0)
                return r;
        return quirks_bind_begin(&t->roots, entry);
}

static void entry_pop(struct transaction *t)
{
        int r = quirks_bind_end(&t->roots);

        if (r < 0)
                log_warning("%s: our entry for the bind is still in the quirks parameter: %s",
                            t->interface, strerror(-r));
}

/*
 * Binds, and checks the link: a probe that declined may have returned success, and another
 * program may have bound it.
 */
static int bind_and_check(struct transaction *t, enum driver d)
{
        int r = driver_bind(t, d);

        if (r < 0 && r != -EBUSY)
                return r;
        if (driver_now(t) == d)
                return 0;
        return r == -EBUSY ? r : -ENODEV;
}

int attach(struct transaction *t, enum driver d)
{
        _cleanup_close_ int lock = lock_for_bind(t);
        char lost[QUIRK_ENTRY_MAX];
        int entry_error = lock, r;
        bool changed;

        assert(t->lock >= 0); /* only one switch of an interface at a time */
        if (driver_now(t) ==
            d) /* a driver that was just loaded binds every interface that has none */
                return 0;
        if (lock >= 0)
                entry_error = entry_push(t, d);
        /* The bind is tried also without the entry: a driver that should not have the disk
         * declines. */
        r = bind_and_check(t, d);
        /* Without the entry a driver declines a good disk. A program that writes the parameter,
         * too, knows no lock. */
        changed = r < 0 && lock >= 0 && entry_needed(t, d, lost) != 0;
        if (lock >= 0)
                entry_pop(t);
        tx_suspect(t, r < 0 && entry_error >= 0 && !changed && !error_is_ours(r));
        if (r < 0 && entry_error < 0)
                return entry_error;
        return r;
}

/*
 * Waits for the disks. Returns 0 also if only udev has not finished: the driver works, and another
 * bind would not help udev. Returns 0 also if a signal waits: there is no time to try another
 * driver.
 */
static int disks_back(struct transaction *t)
{
        int r = wait_for_disks(t, awake_in(BACK_BUDGET + scan_delay(t, driver_now(t))), NULL);

        if (r == -EINPROGRESS || (r < 0 && signal_waits()))
                return 0;
        return r;
}

/* Any driver is better than none. This needs neither quirks nor the name of a driver. */
static int attach_to_any(struct transaction *t)
{
        int r = record_check(t);

        if (r < 0)
                return r;
        r = attr_write(t->roots.sys, SYSFS_DRIVERS_PROBE, t->interface);
        if (r < 0)
                return r;
        return disks_back(t);
}

/*
 * Unbinds the driver without deleting the LUNs: if a disk does not answer, `delete` waits a minute.
 * On -errno the disk stays on its driver: it is in use (-EBUSY), or that cannot be known.
 */
static int unbind_claimed(struct transaction *t)
{
        enum driver now = driver_now(t);
        int r;

        if (now != DRIVER_UAS && now != DRIVER_USB_STORAGE)
                return 0;
        r = undo_claim_begin(t);
        if (r < 0)
                return r;
        r = driver_unbind(t, now);
        undo_claim_end(t, r >= 0);
        if (r == -EBUSY)
                return r;
        if (r < 0)
                log_warning("%s: cannot unbind %s: %s", t->interface, driver_to_string(now),
                            strerror(-r));
        return 0;
}

/* The disk is not on its former driver, so "rolled back" would be wrong. */
static void disk_stays(struct transaction *t, const char *why)
{
        if (t->result.code == UASD_EXIT_ROLLED_BACK)
                t->result.code = UASD_EXIT_FAILED;
        sentence_add(t->result.text, sizeof(t->result.text), "; %s", why);
        log_warning("%s: on %s: %s", t->interface, driver_to_string(driver_now(t)), why);
}

/* The reason for disk_stays(). used: the result of unbind_claimed(). */
static const char *why_not_back(int used)
{
        if (used == -EBUSY)
                return N_("it is in use already, and stays");
        if (used < 0)
                return N_("whether it is in use cannot be found out, so it stays");
        return N_("it did not go back");
}

static int attach_and_wait(struct transaction *t, enum driver d)
{
        int r = attach(t, d);

        if (r < 0)
                return r;
        return disks_back(t);
}

/* Brings deleted LUNs back without another bind. */
static bool host_rescan(struct transaction *t)
{
        struct usb_disk now = {0};
        char path[64];
        int r = usb_disk_read(&t->roots, t->interface, false, &now);

        if (r == 0 || r == -ENODEV)
                return false;
        /* It cannot be read without memory. If it has another host by now, the scan of the former
         * one does no harm. */
        (void) snprintf(path, sizeof(path), "class/scsi_host/%s/scan",
                        r > 0 ? now.host : t->disk.host);
        usb_disk_done(&now);
        return attr_write(t->roots.sys, path, "- - -") >= 0;
}

static void attach_in_order(struct transaction *t)
{
        enum driver back = t->from != DRIVER_NONE ? t->from : DRIVER_USB_STORAGE,
                    order[] = {back, back, t->to};
        int r = -ENODEV, used = 0;

        if (driver_now(t) == t->from && t->from != DRIVER_NONE && host_rescan(t))
                r = disks_back(t);
        for (size_t i = 0; i < ELEMENTSOF(order) && r < 0; i++) {
                used = unbind_claimed(t);
                if (used < 0) /* no roll-back while a process uses the disk */
                        break;
                if (order[i] == DRIVER_USB_STORAGE && !t->disk.facts.caps.bot)
                        continue;
                r = attach_and_wait(t, order[i]);
                if (!attachment_there(t)) /* the disk was unplugged */
                        return;
                if (r < 0)
                        log_warning("%s: not back on %s: %s", t->interface,
                                    driver_to_string(order[i]), strerror(-r));
        }
        if (driver_now(t) == DRIVER_NONE)
                (void) attach_to_any(t);
        if (driver_now(t) != t->from && t->from != DRIVER_NONE)
                disk_stays(t, why_not_back(used));
}

void attach_back(struct transaction *t)
{
        if (record_check(t) < 0)
                return;
        attach_in_order(t);
        t->phase = tx_tried(t) ? PHASE_UNDONE : PHASE_HOME;
}
