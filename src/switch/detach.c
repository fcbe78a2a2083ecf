/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "switch/detach.h"
#include "common/gettext.h"
#include "switch/appear.h"
#include "switch/attach.h"
#include "switch/hold.h"
#include "switch/record.h"
#include "switch/remove.h"
#include "switch/signals.h"
#include "switch/transaction.h"
#include "switch/trial.h"
#include "sys/usb/usbdisk.h"

/* The checks before the first change to a disk. The first change itself, if no program has seen the
 * disk. */

int may_begin(struct transaction *t)
{
        if (signal_waits())
                return tx_fail(t, UASD_EXIT_DEFERRED, -EINTR,
                               t->phase == PHASE_DETACHED ? N_("ended by a signal")
                                                          : ENDED_BY_SIGNAL);
        if (t->hold.deadline && awake_left(undo_deadline(t)) <= scan_delay(t, t->to))
                return tx_fail(t, UASD_EXIT_DEFERRED, -ETIME,
                               "too little is left of the hold for a switch and its undo");
        return 0;
}

int will_move(struct transaction *t)
{
        int r;

        t->phase = PHASE_TAKEN;
        r = record_write(t, t->result.step);
        t->phase = PHASE_HOME;
        return r;
}

void listen_for_disks(struct transaction *t)
{
        if (!t->request.no_udev && !t->events)
                (void) uevents_open(
                        UEVENTS_ANNOUNCED,
                        &t->events); /* on failure the disks are awaited only in sysfs */
}

/* As soon as uas is loaded, it takes a disk without a driver. So the trial of such a disk is on
 * record before. */
static int before_uas_comes(struct transaction *t)
{
        return t->to == DRIVER_UAS && !driver_registered(t) ? step_trial(t) : 0;
}

/*
 * Inside delay_use the kernel has not looked at the disk yet: there is nothing to claim, and little
 * time is left. So its driver is unbound first. Without a driver the kernel does not scan the disk,
 * and the steps up to the bind have all the time they need.
 */
int step_detach(struct transaction *t)
{
        int r;

        if (t->disk.n_luns > 0)
                return 0;
        r = may_begin(t);
        if (r < 0)
                return r;
        r = before_uas_comes(t);
        if (r < 0 || t->from == DRIVER_NONE)
                return r;
        listen_for_disks(t);
        switch_hold_await(t);
        r = will_move(t);
        if (r < 0)
                return r;
        t->phase = PHASE_DETACHED;
        r = driver_unbind(t, t->from);
        /* In a probe that declines the disk the driver only seems to have it. */
        if (r == -ENODEV && attachment_there(t) &&
            usb_disk_driver(&t->roots, t->interface) == DRIVER_NONE)
                return 0;
        if (r == -EBUSY) {
                t->phase = PHASE_HOME;
                return tx_fail(t, UASD_EXIT_DEFERRED, r,
                               "its disk appeared before it could be switched");
        }
        if (r < 0)
                return tx_fail(t, UASD_EXIT_ROLLED_BACK, r, "%s does not let go: %s",
                               driver_to_string(t->from), strerror(-r));
        return 0;
}

bool is_unknown_yet(const struct transaction *t)
{
        return t->phase == PHASE_DETACHED &&
               usb_disk_driver(&t->roots, t->interface) == DRIVER_NONE;
}
