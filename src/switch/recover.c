/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/log.h"
#include "switch/transaction.h"
#include "sys/io/clock.h"
#include "sys/state/attachment.h"
#include "sys/state/history.h"
#include "sys/usb/strings.h"

/* What has it now is what it comes back to, should LUNs be missing; if they do not come, where it was. */
static void keep_what_has_it(struct transaction *t, enum driver now)
{
        if (now == t->to && t->from != DRIVER_NONE)
                t->to = t->from;
        if (now != DRIVER_NONE)
                t->from = now;
}

/*
 * Its record says what it was about to do, the kernel says where the disk is now. A driver that has the disk keeps
 * it, unless it has failed there; a disk without one goes back to where it came from. Never called while the lock is held.
 */
int transaction_recover(struct transaction *t)
{
        int r = record_load(t);

        if (r == 0) /* not even a record: only the lock file was left */
                record_end(t);
        if (r <= 0)
                return r;
        log_notice("%s: a switch from %s to %s was left at step %s", t->interface, driver_to_string(t->from),
                   driver_to_string(t->to), t->step);
        children_end(t); /* or their claims would be taken for somebody's */
        quirks_in_order(t);
        r = usb_disk_read(&t->roots, t->interface, true, &t->disk);
        if (r > 0) {
                enum driver now = t->disk.facts.driver, to = t->to;
                bool back = t->failed && now == t->to && t->from != DRIVER_NONE;

                if (t->disk.strings_anew)
                        (void) strings_keep(&t->roots, &t->disk.facts);
                memcpy(t->serial, t->disk.facts.serial, sizeof(t->serial));
                if (!t->no_udev)
                        (void) uevents_open(UEVENTS_PROCESSED, &t->events);
                /* It was back already: its LUNs have appeared since it failed. */
                t->answered = now == t->from && t->disk.n_luns > 0 && luns_with_disk(t->disk.luns, t->disk.n_luns) >= t->n_disks;
                if (t->moved && now != DRIVER_OTHER) {
                        if (!back)
                                keep_what_has_it(t, now);
                        (void) record_write(t, "recover");
                        if (back || t->disk.n_luns == 0 || luns_with_disk(t->disk.luns, t->disk.n_luns) < t->n_disks)
                                attach_back(t);
                }
                /* Also one that began after the last word in the record; but that of the next attachment is not ours. */
                if (!t->replugged)
                        t->holding = t->holding || hold_in_force(&t->roots, &t->disk.facts, now_boottime(), NULL);
                if (t->holding)
                        switch_hold_end(t);
                if (t->events)
                        uevents_close(t->events);
                history_recall(&t->roots, &t->disk.facts);
                t->to = to;
                if (t->failed) {
                        (void) snprintf(t->text, sizeof(t->text),
                                        "under %s it did not pass; uasd-switch was killed on the way back", driver_to_string(to));
                        undo_trial(t);
                }
                trial_leave(t);
        }
        record_end(t);
        return 0;
}
