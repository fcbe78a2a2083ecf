/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>

#include "common/log.h"
#include "common/names.h"
#include "sys/marks.h"
#include "sys/past.h"
#include "switch/transaction.h"

/*
 * A machine that dies in the first minutes of a disk on uas must not die of it again at every boot: that there is a trial is
 * on record, durably, before the disk is moved; no record, no trial. One that speaks UAS alone has nowhere else to be: nothing is tried.
 */
int step_trial(struct transaction *t)
{
        const struct facts *f = &t->disk.facts;
        struct history h = { .state = HISTORY_TRIAL };
        int r;

        if (t->to != DRIVER_UAS || f->trial_passed || f->trial_open || facts_uas_alone(f))
                return 0;
        /* Somebody insists on uas against what is on record: that comes back when this trial ends. */
        if (f->distrusted && past_read(&t->roots, f, &h) > 0) {
                h.state = HISTORY_TRIAL;
                h.distrusted = true;
        }
        r = past_write(&t->roots, f, &h);
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

/* Moved and taken back: it failed there. Not even begun, or not the disk's fault: then there was no trial. */
void undo_trial(struct transaction *t)
{
        const struct facts *f = &t->disk.facts;
        struct history h = { .state = HISTORY_DISTRUSTED, .failed = true };
        int r = 0;

        if (t->to != DRIVER_UAS)
                return;
        if (t->failed && record_check(t) >= 0) {
                (void) copy_string(h.reason, sizeof(h.reason), t->text);
                r = facts_uas_alone(f) ? 0 : past_write(&t->roots, f, &h);
                /* Whoever asked for uas has his answer; a disk that could not be taken back shall not stay there for him. */
                (void) attachment_drop_override(&t->roots, f, DRIVER_UAS);
        } else if (t->on_trial)
                r = past_end_trials(&t->roots, f);
        complain(t, r);
}

/* Is uasd there, to see a trial through? */
static bool watched(const struct transaction *t)
{
        struct flock lock = { .l_type = F_RDLCK };
        _cleanup_close_ int fd = openat(t->roots.run, RUN_DAEMON_LOCK, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

        return fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) >= 0 && lock.l_type != F_UNLCK;
}

/*
 * Off uas there is no trial: a machine that dies later does not die of it. Nor where nobody would end it: uasd, which may have
 * stopped meanwhile since the machine goes down, begins it anew when it comes.
 */
void trial_leave(struct transaction *t)
{
        enum driver now = driver_now(t);

        if ((t->on_trial || t->disk.facts.trial_open) && (now == DRIVER_USB_STORAGE || (now == DRIVER_UAS && !watched(t))))
                complain(t, past_end_trials(&t->roots, &t->disk.facts));
}
