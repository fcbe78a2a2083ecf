/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <poll.h>

#include "common/log.h"
#include "common/names.h"
#include "switch/transaction.h"
#include "sys/io/clock.h"
#include "sys/state/attachment.h"
#include "sys/state/history.h"

#define GONE_BUDGET (5 * USEC_PER_SEC)
#define LOOK_AGAIN_MSEC 100

/*
 * A machine that dies in the first minutes of a disk on uas must not die of it again at every boot: that there is a trial is
 * on record, durably, before the disk is moved; no record, no trial. One that speaks UAS alone has nowhere else to be: nothing is
 * tried.
 */
int step_trial(struct transaction *t)
{
        const struct facts *f = &t->disk.facts;
        struct history h = {.state = HISTORY_TRIAL};
        int r;

        if (t->to != DRIVER_UAS || f->trial_passed || f->trial_open || facts_uas_alone(f))
                return 0;
        t->had_past = history_read(&t->roots, f, &t->past) > 0;
        /* uas was asked for against what is on record: the record applies again when this trial ends. */
        if (f->distrusted && t->had_past) {
                h = t->past;
                h.state = HISTORY_TRIAL;
                h.distrusted = true;
        }
        r = history_write(&t->roots, f, &h);
        if (r < 0)
                return tx_fail(t, UASD_EXIT_DEFERRED, r, "its trial cannot be put on record: %s", strerror(-r));
        t->on_trial = true;
        return 0;
}

static void complain(const struct transaction *t, int r)
{
        if (r < 0)
                log_warning("%s: the end of its trial cannot be put on record: %s", t->interface, strerror(-r));
}

/*
 * Evidence counts only while the disk is there. When a disk is pulled the kernel reports I/O errors first. The disconnect follows
 * when the worker of the hub comes to that port: another port of that hub may keep it for seconds (debounce, enumeration). A disk
 * that has answered since it failed was not pulled.
 */
static bool still_there(const struct transaction *t)
{
        struct awake deadline = awake_in(GONE_BUDGET);

        while (attachment_there(t)) {
                if (t->answered || awake_left(deadline) == 0)
                        return true;
                (void) poll(NULL, 0, LOOK_AGAIN_MSEC);
        }
        return false;
}

/* Ends the trial that this switch has begun: without a result, or as if it had not begun if nothing was tried. */
static int end_trial(const struct transaction *t)
{
        const struct facts *f = &t->disk.facts;

        if (t->on_trial && (!t->bound || !attachment_there(t)))
                return history_put_back(&t->roots, f, t->had_past ? &t->past : NULL);
        return history_end_trials(&t->roots, f);
}

/* Distrusts a disk that failed under uas. If it was not even bound to uas, or if that was not the disk's fault, there was no
 * trial. */
void undo_trial(struct transaction *t)
{
        const struct facts *f = &t->disk.facts;
        struct history h = {.state = HISTORY_DISTRUSTED, .failed = true};
        int r = 0;

        if (t->to != DRIVER_UAS)
                return;
        if (t->failed && still_there(t) && record_check(t) >= 0) {
                (void) copy_string(h.reason, sizeof(h.reason), t->text);
                r = facts_uas_alone(f) ? 0 : history_write(&t->roots, f, &h);
                /* Whoever asked for uas has his answer; a disk that could not be taken back shall not stay there for him. */
                (void) attachment_drop_override(&t->roots, f, DRIVER_UAS);
        } else if (t->on_trial)
                r = end_trial(t);
        complain(t, r);
}

/* Is uasd there, to see a trial through? */
static bool watched(const struct transaction *t)
{
        struct flock lock = {.l_type = F_RDLCK};
        _cleanup_close_ int fd = openat(t->roots.run, RUN_DAEMON_LOCK, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

        return fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) >= 0 && lock.l_type != F_UNLCK;
}

/*
 * Off uas there is no trial: a machine that dies later does not die of it. Nor is there one of a disk that was unplugged. Nor
 * where nothing would end it: uasd may have stopped since the machine goes down, and begins the trial again when it starts.
 */
void trial_leave(struct transaction *t)
{
        enum driver now = usb_disk_driver(&t->roots, t->interface);

        if ((t->on_trial || t->disk.facts.trial_open) &&
            (now == DRIVER_USB_STORAGE || (now == DRIVER_UAS && (signal_waits() || !watched(t))) || !attachment_there(t)))
                complain(t, end_trial(t));
}
