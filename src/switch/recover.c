/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/log.h"
#include "common/sentence.h"
#include "switch/attach.h"
#include "switch/child.h"
#include "switch/hold.h"
#include "switch/record.h"
#include "switch/tasks.h"
#include "switch/transaction.h"
#include "switch/trial.h"
#include "switch/verify.h"
#include "sys/io/clock.h"
#include "sys/state/attachment.h"
#include "sys/state/history.h"
#include "sys/state/switch-record.h"
#include "sys/usb/usbdisk.h"

/*
 * The present driver becomes `from`: the disk stays there, also if LUNs have to be brought back. If
 * they do not come back, the former driver is tried.
 */
static void keep_what_has_it(struct transaction *t, enum driver now)
{
        if (now == t->to && t->from != DRIVER_NONE)
                t->to = t->from;
        if (now != DRIVER_NONE)
                t->from = now;
}

static void recover_disk(struct transaction *t, bool replugged)
{
        enum driver now = t->disk.facts.driver, to = t->to;
        bool back = tx_failed(t) && now == t->to && t->from != DRIVER_NONE;

        if (!t->request.no_udev)
                (void) uevents_open(UEVENTS_PROCESSED, &t->events);
        /* true: its LUNs have appeared since it failed, so it was already back */
        t->blame.answered = now == t->from && t->disk.n_luns > 0 &&
                            luns_with_disk(t->disk.luns, t->disk.n_luns) >= t->before.n_disks;
        if (tx_moved(t) && now != DRIVER_OTHER) {
                if (!back)
                        keep_what_has_it(t, now);
                (void) record_write(t, "recover");
                if (back || t->disk.n_luns == 0 ||
                    luns_with_disk(t->disk.luns, t->disk.n_luns) < t->before.n_disks)
                        attach_back(t);
        }
        if (tx_failed(t))
                (void) sentence(t->result.text, sizeof(t->result.text),
                                "under %s it did not pass; uasd-switch was killed on the way back",
                                driver_to_string(to));
        t->to = to;
        reread(t);
        /* Also a hold that began after the last change of the record. But a hold of the next
         * attachment is not ours. */
        if (!replugged)
                t->hold.ours = t->hold.ours ||
                               hold_in_force(&t->roots, &t->disk.facts, now_boottime(), NULL);
        if (t->hold.ours)
                switch_hold_end(t);
        uevents_close(t->events);
        history_recall(&t->roots, &t->disk.facts);
        if (tx_failed(t))
                undo_trial(t);
        trial_leave(t);
        verify_end(t);
}

/*
 * The record shows the step of the switch, the kernel shows the present driver. The disk stays on
 * that driver, unless it has failed there. A disk without a driver goes back to its former one.
 * Never called while the lock is held.
 */
int transaction_recover(struct transaction *t)
{
        bool replugged;
        int r = record_load(t, &replugged);

        if (r == 0) /* no record: only the lock file was left */
                record_end(t);
        if (r <= 0) {
                t->lock = close_keep_errno(t->lock);
                return r;
        }
        log_notice("%s: a switch from %s to %s was left at step %s", t->interface,
                   driver_to_string(t->from), driver_to_string(t->to), t->result.step);
        children_end(t); /* otherwise their claims would look like those of another process */
        quirks_in_order(t);
        r = usb_disk_read(&t->roots, t->interface, true, &t->disk);
        if (r < 0 && r != -ENODEV) { /* the record stays for the next one */
                t->lock = close_keep_errno(t->lock);
                return r;
        }
        if (r > 0)
                recover_disk(t, replugged);
        record_end(t);
        return 0;
}

void finish_earlier(struct transaction *t)
{
        struct transaction earlier = TRANSACTION_NULL;

        if (!switch_recorded(&t->roots, t->interface))
                return;
        earlier.roots = t->roots;
        earlier.config = t->config;
        earlier.interface = t->interface;
        earlier.request.no_udev = t->request.no_udev;
        (void) transaction_recover(&earlier);
        usb_disk_done(&earlier.disk);
}
