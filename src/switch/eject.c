/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <poll.h>

#include "common/log.h"
#include "common/names.h"
#include "switch/claim.h"
#include "switch/quiesce.h"
#include "switch/record.h"
#include "switch/remove.h"
#include "switch/report.h"
#include "switch/signals.h"
#include "switch/tasks.h"
#include "switch/transaction.h"
#include "sys/io/sysfs.h"

/*
 * Ejects a disk: no process uses it, each byte is on the medium, and the drive has stopped. Then
 * one write to sysfs makes the kernel remove the USB device and disable its port until the disk is
 * plugged in again. Up to that write the disk is as it was, so there is nothing to undo.
 */

#define SWITCH_BUDGET (120 * USEC_PER_SEC) /* longer than a switch takes, with its undo */
#define UDEV_BUDGET (5 * USEC_PER_SEC)
#define READ_BUDGET (2 * USEC_PER_SEC)
#define LOOK_AGAIN_MSEC 100

static int eject_identify(struct transaction *t)
{
        t->to = DRIVER_USB_STORAGE; /* so a LUN that is offline is not claimed */
        return tx_identify(t, false);
}

/* Called with the lock: during a switch the disk may have no driver and no LUN. */
static int eject_may_go(struct transaction *t)
{
        _cleanup_strv_ char **interfaces = NULL;
        char of_device[INTERFACE_NAME_MAX];
        int n;

        (void) copy_part(of_device, sizeof(of_device), t->interface,
                         strcspn(t->interface, ":") + 1);
        n = dir_list(t->roots.sys, SYSFS_USB_DEVICES, of_device, &interfaces);
        if (n < 0)
                return tx_fail(t, UASD_EXIT_FAILED, n,
                               "cannot read the interfaces of its device: %s", strerror(-n));
        if (t->from == DRIVER_OTHER)
                return tx_fail(t, UASD_EXIT_REFUSED, -EBUSY, "the interface belongs to %s",
                               t->disk.facts.driver_name);
        if (n > 1 || (n == 1 && !streq(interfaces[0], t->interface)))
                return tx_fail(t, UASD_EXIT_REFUSED, -EBUSY,
                               "the USB device has other interfaces, which would go as well");
        if (t->from != DRIVER_NONE && t->disk.n_luns == 0)
                return tx_fail(t, UASD_EXIT_DEFERRED, -EAGAIN,
                               "the kernel is still looking for its disk");
        return 0;
}

/* A switch that is under way ends first. The disk may have other names after it, so it is read
 * again. */
static int eject_begin(struct transaction *t)
{
        struct awake deadline = awake_in(SWITCH_BUDGET);
        int r;

        do {
                finish_earlier(t);
                r = eject_identify(t);
                if (r < 0)
                        return r;
                r = record_begin(t);
        } while (r == -EALREADY && awake_left(deadline) > 0 && poll(NULL, 0, LOOK_AGAIN_MSEC) == 0);
        t->pid1.error = -ENOENT; /* whether the machine goes down does not matter */
        if (r == -EALREADY)
                return tx_fail(t, UASD_EXIT_DEFERRED, r,
                               "another switch of this disk is under way");
        if (r < 0)
                return tx_fail(t, UASD_EXIT_FAILED, r, "cannot write the record: %s", strerror(-r));
        r = eject_identify(t);
        if (r < 0)
                return r;
        return eject_may_go(t);
}

static int eject_sync(struct transaction *t)
{
        int r = step_sync(t);

        if (r < 0)
                return r;
        t->before.written = claim_written(&t->roots, &t->claim);
        return 0;
}

/* From here on the disk is claimed: no process can open it for itself. */
static int eject_stop(struct transaction *t)
{
        int r = close_door(t);

        if (r < 0)
                return r;
        for (size_t i = 0; i < t->claim.n; i++) {
                r = claim_stop(&t->claim, i);
                /* Its cache is flushed. A drive that cannot be stopped loses nothing. */
                if (r < 0)
                        log_info("%s: %s does not stop: %s", t->interface, t->claim.nodes[i].name,
                                 strerror(-r));
        }
        return 0;
}

static int eject_remove(struct transaction *t)
{
        int r = device_remove(t);

        if (r == -EBUSY)
                return tx_fail(t, UASD_EXIT_DEFERRED, r, NOT_CLAIMED);
        if (r < 0)
                return tx_fail(t, UASD_EXIT_FAILED, r, "the kernel does not remove it: %s",
                               strerror(-r));
        return 0;
}

static bool is_udev(const struct transaction *t, const struct user *u)
{
        return user_is_udev(u);
}

static bool is_open(const struct transaction *t, const struct user *u)
{
        return u->kind == USER_OPEN;
}

/* After an umount or a write udev reads the disk, and then programs such as udisks do. This ends
 * soon, or has ended by now. */
static bool reads_will_end(const struct transaction *t, struct awake begin)
{
        usec_t waited = awake_since(begin);
        size_t n;

        if (waited < READ_BUDGET)
                return count_exempt(t, &t->disk, is_open, &n) == 0;
        return waited < UDEV_BUDGET && count_exempt(t, &t->disk, is_udev, &n) == 0;
}

int transaction_eject(struct transaction *t)
{
        static const struct {
                const char *name;
                int (*run)(struct transaction *t);
                bool at_once; /* a signal may end this step at once */
        } steps[] = {
                /* clang-format off */
                {"begin", eject_begin, false},
                {"claim", step_claim, true},
                {"sync", eject_sync, true},
                {"stop", eject_stop, false},
                {"remove", eject_remove, false},
                /* clang-format on */
        };
        struct awake begin = {0};
        int r = 0;

        for (size_t i = 0; r >= 0 && i < ELEMENTSOF(steps); i++) {
                (void) copy_string(t->result.step, sizeof(t->result.step), steps[i].name);
                report_step(t);
                if (steps[i].at_once)
                        signals_allow(t);
                r = steps[i].run(t);
                signals_block();
                if (i == 0)
                        begin = now_awake();
                else if (r == -EBUSY && steps[i].run != eject_remove && reads_will_end(t, begin)) {
                        claim_drop(&t->claim);
                        (void) poll(NULL, 0, LOOK_AGAIN_MSEC);
                        t->result.code = UASD_EXIT_OK;
                        r = 0;
                        i = 0; /* with the claim */
                }
        }
        if (r < 0)
                settle_unplugged(t);
        else
                (void) copy_string(t->result.text, sizeof(t->result.text), "ejected");
        claim_drop(&t->claim);
        record_end(t);
        return t->result.code;
}
