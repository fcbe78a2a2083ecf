/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/log.h"
#include "sys/past.h"
#include "switch/transaction.h"

/*
 * A machine that dies in the first minutes of a disk on uas must not die of it again at every boot: that there is a trial is
 * on record, durably, before the disk is moved; no record, no trial.
 */
int step_trial(struct transaction *t)
{
        const struct facts *f = &t->disk.facts;
        struct history h = { .state = HISTORY_TRIAL };
        int r;

        if (t->to != DRIVER_UAS || f->trial_passed || f->trial_open)
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

/* Moved and taken back: it failed there. Not even begun: then there was no trial. */
void undo_trial(struct transaction *t)
{
        const struct facts *f = &t->disk.facts;
        struct history h = { .state = HISTORY_DISTRUSTED, .failed = true };
        int r = 0;

        if (t->to != DRIVER_UAS)
                return;
        if (t->bound && record_check(t) >= 0) {
                (void) copy_string(h.reason, sizeof(h.reason), t->text);
                r = past_write(&t->roots, f, &h);
        } else if (t->on_trial)
                r = past_end_trials(&t->roots, f);
        if (r < 0)
                log_warning("%s: the end of its trial cannot be put on record: %s", t->interface, strerror(-r));
}
