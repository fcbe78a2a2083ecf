/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "common/log.h"
#include "common/names.h"
#include "sys/conf.h"
#include "sys/marks.h"
#include "sys/pid1.h"
#include "sys/quirkparam.h"
#include "sys/sysfs.h"
#include "sys/trigger.h"
#include "switch/transaction.h"

#define QUIRKS_BUDGET (10 * USEC_PER_SEC)
#define BACK_BUDGET (30 * USEC_PER_SEC)
#define LOOK_AGAIN_MSEC 200 /* where no udev tells */

int driver_write(struct transaction *t, enum driver d, const char *file)
{
        char path[64];
        int r = record_check(t); /* a name says nothing of whose it is: asked at the last moment */

        if (r < 0)
                return r;
        (void) snprintf(path, sizeof(path), SYSFS_USB_DRIVERS "/%s/%s", driver_to_string(d), file);
        return attr_write(t->roots.sys, path, t->interface);
}

enum driver driver_now(const struct transaction *t)
{
        char path[128], name[32];

        (void) snprintf(path, sizeof(path), SYSFS_USB_DEVICES "/%s/driver", t->interface);
        if (link_basename(t->roots.sys, path, name, sizeof(name)) < 0)
                return DRIVER_NONE;
        return streq(name, DRIVER_NAME_UAS) ? DRIVER_UAS : streq(name, DRIVER_NAME_BOT) ? DRIVER_USB_STORAGE : DRIVER_OTHER;
}

/*
 * While a LUN is deleted its transport is still alive, so sd's last flush reaches the drive; at unbind `uas` fails
 * every command before sd is removed (vm.md 1, 14).
 */
int luns_delete(struct transaction *t)
{
        _cleanup_close_ int dir = -1;
        char path[128];
        int r;

        /*
         * Through the interface's own directory, opened before it is looked whether that is still ours: when the disk is
         * pulled out the directory is dead, while another disk may have the same host number at once.
         */
        (void) snprintf(path, sizeof(path), SYSFS_USB_DEVICES "/%s", t->interface);
        dir = openat(t->roots.sys, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        r = dir < 0 ? -errno : record_check(t);
        if (r < 0)
                return tx_fail(t, UASD_EXIT_ROLLED_BACK, r, "the disk is no longer the one that was looked at");
        for (size_t i = 0; i < t->disk.n_luns; i++) {
                const char *scsi = t->disk.luns[i].scsi;

                (void) snprintf(path, sizeof(path), "%s/target%.*s/%s/delete", t->disk.host,
                                (int) (strrchr(scsi, ':') - scsi), scsi, scsi);
                r = attr_write(dir, path, "1");
                if (r < 0 && r != -ENOENT && r != -ENODEV)
                        return tx_fail(t, UASD_EXIT_ROLLED_BACK, r, "cannot take %s away: %s", t->disk.luns[i].scsi,
                                       strerror(-r));
        }
        return 0;
}

static void quirks_pop(struct transaction *t)
{
        int r;

        if (!t->pushed)
                return;
        r = quirks_param_pop(&t->roots, t->entry);
        if (r < 0)
                log_warning("%s: our entry %s is still in the quirks parameter: %s", t->interface, t->entry, strerror(-r));
        t->pushed = r < 0;
}

void quirks_in_order(struct transaction *t)
{
        _cleanup_close_ int lock = t->pushed ? quirks_lock(&t->roots, now_boottime() + QUIRKS_BUDGET) : -1;

        if (lock >= 0)
                quirks_pop(t);
}

int attach(struct transaction *t, enum driver d)
{
        struct facts *f = &t->disk.facts;
        struct bridge b;
        _cleanup_close_ int lock = quirks_lock(&t->roots, now_boottime() + QUIRKS_BUDGET);
        char now[QUIRKS_MAX + 1];
        int r;

        if (lock < 0)
                return lock;
        if (driver_now(t) == d) /* a driver that was just loaded takes what has none by itself */
                return 0;
        facts_bridge(f, &b);
        r = quirks_param_read(&t->roots, now);
        if (r >= 0)
                r = quirks_entry(now, &b, d, t->entry);
        if (r > 0) {
                /* In the record before it is in the kernel: whoever finishes this knows what to take out. */
                r = record_write(t, t->step);
                if (r >= 0) {
                        t->pushed = true; /* also when it failed: it may be in there all the same */
                        r = quirks_param_push(&t->roots, t->entry);
                }
        }
        if (r >= 0)
                r = driver_write(t, d, "bind");
        quirks_pop(t);
        /* A probe that declined may have returned success: the link alone tells. */
        if (r >= 0 && driver_now(t) != d)
                r = -ENODEV;
        return r;
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

/* Takes the driver away at once: a disk that answers nothing would make `delete` wait a minute. */
static int detach(struct transaction *t)
{
        enum driver now = driver_now(t);
        int r;

        if (now != DRIVER_UAS && now != DRIVER_USB_STORAGE)
                return 0;
        r = guard_begin(t);
        if (r < 0)
                return r;
        r = driver_write(t, now, "unbind");
        guard_end(t, true);
        if (r < 0)
                log_warning("%s: cannot unbind %s: %s", t->interface, driver_to_string(now), strerror(-r));
        return 0;
}

/* Not where it came from: "rolled back" would not be true. */
static void stays(struct transaction *t, const char *why)
{
        size_t n = strlen(t->text);

        if (t->code == UASD_EXIT_ROLLED_BACK)
                t->code = UASD_EXIT_FAILED;
        (void) snprintf(t->text + n, sizeof(t->text) - n, "; %s", why);
        log_warning("%s: on %s: %s", t->interface, driver_to_string(driver_now(t)), why);
}

/* Deleted LUNs come back without another probe. */
static bool rescan(struct transaction *t)
{
        struct usb_disk now = { 0 };
        char path[64];
        int r = usb_disk_read(&t->roots, t->interface, false, &now);

        if (r > 0) {
                (void) snprintf(path, sizeof(path), "class/scsi_host/%s/scan", now.host);
                r = now.host[0] ? attr_write(t->roots.sys, path, "- - -") : -ENOENT;
                usb_disk_done(&now);
        }
        return r >= 0;
}

void attach_back(struct transaction *t)
{
        enum driver back = t->from != DRIVER_NONE ? t->from : DRIVER_USB_STORAGE, order[] = { back, back, t->to };
        int r = -ENODEV;

        if (record_check(t) < 0)
                return;
        if (driver_now(t) == t->from && t->from != DRIVER_NONE && rescan(t))
                r = wait_for_disks(t, now_boottime() + BACK_BUDGET);
        for (size_t i = 0; i < ELEMENTSOF(order) && r < 0; i++) {
                if (detach(t) == -EBUSY) { /* never taken back from under anybody */
                        t->kept = true;
                        break;
                }
                if (order[i] == DRIVER_USB_STORAGE && !t->disk.facts.caps.bot)
                        continue;
                r = attach(t, order[i]);
                if (r >= 0)
                        r = wait_for_disks(t, now_boottime() + BACK_BUDGET);
                if (r < 0)
                        log_warning("%s: not back on %s: %s", t->interface, driver_to_string(order[i]), strerror(-r));
        }
        if (driver_now(t) != t->from && t->from != DRIVER_NONE)
                stays(t, t->kept ? "it is in use already, and stays" : "it did not go back");
        t->moved = false;
}

void hold_begin(struct transaction *t)
{
        struct facts *f = &t->disk.facts;
        struct attachment_mark a;
        sd_bus *pid1 = NULL;

        /* Written before the bind: the rule never begins a hold of its own on this attachment again. */
        if (attachment_read(&t->roots, f, &a) >= 0) {
                a.tried = a.tried || t->automatic;
                a.no_auto = a.no_auto || !t->plugged;
                (void) attachment_write(&t->roots, f, &a);
        }
        if (t->hold_deadline) {
                t->holding = true;
                return;
        }
        /* No timer, no hold: without PID 1 nobody mounts behind our back either. */
        if (t->config.hold_usec == 0 || cmdline_has(&t->roots, CMDLINE_NO_HOLD) || pid1_open(&pid1) < 0)
                return;
        if (pid1_arm_release(pid1, t->interface) >= 0) {
                struct hold_mark m = { f->busnum, f->devnum, now_boottime() + t->config.hold_usec };

                /* A mark of "released" is of an earlier hold on this attachment: this one is ours, and short. */
                if (a.released) {
                        a.released = false;
                        (void) attachment_write(&t->roots, f, &a);
                }
                t->holding = hold_write(&t->roots, t->interface, &m) >= 0;
        }
        sd_bus_flush_close_unref(pid1);
}

void hold_end(struct transaction *t)
{
        struct usb_disk now = { 0 };

        if (!t->holding && !t->hold_deadline)
                return;
        (void) hold_release(&t->roots, &t->disk.facts);
        t->holding = false;
        t->hold_deadline = 0;
        if (usb_disk_read(&t->roots, t->interface, false, &now) > 0) {
                (void) trigger_add(&t->roots, now.luns, now.n_luns);
                usb_disk_done(&now);
        }
}
