/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <sys/param.h>

#include "common/gettext.h"
#include "switch/appear.h"
#include "switch/attach.h"
#include "switch/claim.h"
#include "switch/detach.h"
#include "switch/hold.h"
#include "switch/quiesce.h"
#include "switch/record.h"
#include "switch/remove.h"
#include "switch/report.h"
#include "switch/signals.h"
#include "switch/tasks.h"
#include "switch/transaction.h"
#include "switch/trial.h"
#include "switch/verify.h"
#include "sys/facts.h"
#include "sys/io/ask-pid1.h"
#include "sys/io/clock.h"
#include "sys/quirks/modules.h"
#include "sys/quirks/param.h"
#include "sys/usb/usbdisk.h"

/* Budgets, usec. The spin-up of a large disk needs most time. */
#define LOCK_BUDGET (10 * USEC_PER_SEC)
#define APPEAR_BUDGET (30 * USEC_PER_SEC)
#define VERIFY_BUDGET (10 * USEC_PER_SEC)

static int step_identify(struct transaction *t)
{
        struct facts *f = &t->disk.facts;
        int r = tx_identify(t, true);

        if (r < 0)
                return r;
        if (t->disk.strings_anew) /* a disk without a driver cannot be asked */
                (void) strings_keep(&t->roots, f);
        facts_complete(&t->roots, &t->config, f);
        if (!facts_offer_uas(f))
                return tx_fail(t, UASD_EXIT_INCAPABLE, -EOPNOTSUPP,
                               "this disk does not offer UAS completely");
        /* Without an alternate setting for BOT, usb-storage cannot bind, and the disk would have no
         * driver. */
        if (t->to == DRIVER_USB_STORAGE && !f->caps.bot)
                return tx_fail(t, UASD_EXIT_INCAPABLE, -EOPNOTSUPP,
                               "this disk speaks UAS alone: usb-storage cannot drive it");
        if (f->driver == DRIVER_OTHER)
                return tx_fail(t, UASD_EXIT_REFUSED, -EBUSY, "the interface belongs to %s",
                               f->driver_name);
        if (!f->authorized)
                return tx_fail(t, UASD_EXIT_REFUSED, -EPERM, "the USB device is not authorized");
        return t->from == t->to; /* 1: the disk is already there */
}

static int step_record(struct transaction *t)
{
        int r = record_begin(t);

        /* PID 1 need not be asked about a disk that is held. */
        t->pid1.error = t->hold.deadline ? -ENOENT : pid1_there(&t->roots);
        if (r == -EALREADY)
                return tx_fail(t, UASD_EXIT_DEFERRED, r,
                               "another switch of this disk is under way");
        if (r < 0)
                return tx_fail(t, UASD_EXIT_FAILED, r, "cannot write the record of the switch: %s",
                               strerror(-r));
        return 0;
}

static void undo_record(struct transaction *t)
{
        quirks_in_order(t);
        record_end(t);
}

static void undo_move(struct transaction *t)
{
        bool unknown = is_unknown_yet(t);

        claim_drop(&t->claim);
        if (!tx_moved(t)) /* a user came first: the rest of a hold has time for another try */
                return;
        switch_hold_for_undo(t, !unknown);
        attach_back(t);
        reread(t);
        if (!unknown) /* else its first hold may begin now */
                switch_hold_end(t);
}

static void undo_detach(struct transaction *t)
{
        undo_move(t);
        if (t->trial.begun) /* it was on record before the step that failed */
                undo_trial(t);
}

static void undo_claim(struct transaction *t)
{
        claim_drop(&t->claim);
}

/* Reads the quirks parameter. ret_left: the entry of an earlier bind that is still in it, or "". */
static int read_quirks_locked(struct transaction *t, char ret_left[static QUIRK_ENTRY_MAX])
{
        /* A process that hangs with the lock keeps the disk from a driver. So the lock is tried
         * before the disk is moved. */
        _cleanup_close_ int lock =
                quirks_lock(&t->roots, awake_left(step_deadline(t, LOCK_BUDGET)));
        int r;

        t->quirks_hang = lock == -ETIMEDOUT;
        if (t->quirks_hang)
                return tx_fail(t, UASD_EXIT_DEFERRED, lock,
                               "a program keeps the lock of the quirks parameter");
        if (lock < 0)
                return lock;
        r = quirks_param_read(&t->roots, t->disk.facts.quirks);
        if (r < 0)
                return r;
        return quirks_bind_read(&t->roots, ret_left);
}

/* Returns 0 if the quirks parameter has room for the entry of the bind, or if that needs none. */
static int check_quirks_room(struct transaction *t)
{
        const struct facts *f = &t->disk.facts;
        char wanted[QUIRKS_MAX + 1], entry[QUIRK_ENTRY_MAX], left[QUIRK_ENTRY_MAX] = "";
        struct bridge b;
        int r = read_quirks_locked(t, left);

        if (r < 0)
                return r;
        facts_bridge(f, &b);
        r = quirks_entry(f->quirks, &b, t->to, entry);
        if (r <= 0)
                return r;
        if (left[0])
                return tx_fail(
                        t, UASD_EXIT_DEFERRED, -EBUSY,
                        "the entry %s of an earlier bind cannot be taken out of the quirks parameter",
                        left);
        r = quirks_prepend(f->quirks, entry, wanted);
        if (r < 0)
                return tx_fail(t, UASD_EXIT_FAILED, r,
                               "the quirks parameter of usb_storage has no room for %s", entry);
        return 0;
}

static int step_prepare(struct transaction *t)
{
        char why[MODULE_WHY_MAX];
        int r;

        if (t->to == DRIVER_UAS) {
                r = uas_module_load(&t->roots, t->config.module, why);
                if (r < 0)
                        return tx_fail(t, UASD_EXIT_FAILED, r,
                                       "the module uas cannot be loaded: %s", why);
        }
        r = check_quirks_room(t);
        if (r < 0)
                return tx_fail(t, UASD_EXIT_FAILED, r, "cannot read the quirks parameter: %s",
                               strerror(-r));
        listen_for_disks(t);
        return 0;
}

/*
 * While the machine goes down no switch begins: a disk that is unmounted now is about to be powered
 * off. Without an answer from PID 1 the disk stays on its driver.
 */
static int machine_stops(struct transaction *t)
{
        int state = PID1_RUNNING;

        if (t->pid1.stopping.pid) {
                state = pid1_answer(&t->pid1.stopping, awake_in(PID1_USEC));
                t->pid1.error = MIN(state, 0);
        }
        if (t->before.n_disks > 0 && t->pid1.error < 0 && t->pid1.error != -ENOENT)
                return tx_fail(t, UASD_EXIT_DEFERRED, t->pid1.error,
                               "PID 1 does not say whether the machine is going down: %s",
                               strerror(-t->pid1.error));
        if (state == PID1_STOPPING)
                return tx_fail(t, UASD_EXIT_DEFERRED, -ESHUTDOWN, "the machine is going down");
        return 0;
}

/* From here on the disk moves: undo brings it back to a driver. */
static int step_delete(struct transaction *t)
{
        int r;

        r = machine_stops(t);
        if (r < 0)
                return r;
        r = may_begin(t);
        if (r < 0)
                return r;
        r = switch_hold_prepare(t);
        if (r == -ETIMEDOUT && t->from != DRIVER_NONE)
                return tx_fail(t, UASD_EXIT_DEFERRED, r,
                               "PID 1 does not start the timer that would end a hold");
        if (t->phase == PHASE_DETACHED)
                return 0;
        r = will_move(t);
        if (r < 0)
                return r;
        return luns_delete(t);
}

static int step_unbind(struct transaction *t)
{
        int r;

        if (t->from == DRIVER_NONE || t->phase == PHASE_DETACHED)
                return 0;
        /* the driver is still there: a scan brings the LUNs back sooner than another bind */
        if (signal_waits())
                return tx_fail(t, UASD_EXIT_ROLLED_BACK, -EINTR, "ended by a signal");
        r = driver_unbind(t, t->from);
        if (r == -EBUSY)
                return tx_fail(t, UASD_EXIT_DEFERRED, r, NOT_CLAIMED);
        if (r < 0)
                return tx_fail(t, UASD_EXIT_ROLLED_BACK, r, "%s does not let go: %s",
                               driver_to_string(t->from), strerror(-r));
        return 0;
}

static int attach_if_ours(struct transaction *t)
{
        int r = record_check(t);

        if (r < 0)
                return r;
        t->phase = PHASE_TRIED;
        return attach(t, t->to);
}

static int step_bind(struct transaction *t)
{
        const struct facts *f = &t->disk.facts;
        int r;

        claim_close(&t->claim); /* only after the last close can the name sda be used again */
        assert(tx_moved(t) && t->claim.n == 0);
        assert(t->to != DRIVER_UAS || t->trial.begun || f->trial_passed || f->trial_open ||
               facts_uas_alone(f));
        switch_hold_begin(t);
        r = attach_if_ours(t);
        if (r < 0)
                return tx_fail(t, UASD_EXIT_ROLLED_BACK, r, "%s does not take it: %s",
                               driver_to_string(t->to), strerror(-r));
        t->scan.since = now_awake();
        look_ahead(t);
        claim_drop(&t->claim); /* the inotify, while the kernel scans */
        return 0;
}

static int step_appear(struct transaction *t)
{
        int r = wait_for_disks(t, step_deadline(t, APPEAR_BUDGET + scan_delay(t, t->to)),
                               switch_hold_if_long);
        const char *why = NULL;

        if (r == -ETIMEDOUT)
                why = why_late(t);
        tx_suspect(t, r < 0 && r != -EINPROGRESS && !why);
        if (r == -ETIMEDOUT)
                return tx_fail(t, UASD_EXIT_ROLLED_BACK, r, "no disk appeared under %s in time%s%s",
                               driver_to_string(t->to), why ? ": " : "", why ?: "");
        if (r == -EINPROGRESS)
                return tx_fail(t, UASD_EXIT_ROLLED_BACK, r,
                               "udev was not done with the disk under %s in time",
                               driver_to_string(t->to));
        if (r < 0)
                return tx_fail(t, UASD_EXIT_ROLLED_BACK, r,
                               "the disk did not come back under %s: %s", driver_to_string(t->to),
                               strerror(-r));
        return 0;
}

static int step_verify(struct transaction *t)
{
        int r = verify(t, step_deadline(t, VERIFY_BUDGET));

        if (r == -EBUSY) { /* never roll back while a process uses the disk */
                t->phase = PHASE_KEPT;
                return 0;
        }
        return r;
}

static int step_release(struct transaction *t)
{
        switch_hold_end(t);
        quirks_in_order(t);
        trial_leave(t);
        record_end(t);
        return 0;
}

static const struct switch_step {
        const char *name;
        int (*run)(struct transaction *t);
        void (*undo)(struct transaction *t);
        /* a signal may end this step at once: it has touched nothing, and it is known whether a
         * record exists */
        bool at_once;
} steps[] = {
        /* clang-format off */
        {"identify",    step_identify,    NULL,         true},
        {"record",      step_record,      undo_record,  false},
        {"detach",      step_detach,      undo_detach,  false},
        {"claim",       step_claim,       undo_claim,   true},
        {"sync",        step_sync,        NULL,         true},
        {"fingerprint", take_fingerprint, NULL,         true},
        {"prepare",     step_prepare,     NULL,         true},
        {"trial",       step_trial,       undo_trial,   false},
        {"delete",      step_delete,      undo_move,    false},
        {"unbind",      step_unbind,      NULL,         false},
        {"bind",        step_bind,        NULL,         false},
        {"appear",      step_appear,      NULL,         false},
        {"verify",      step_verify,      NULL,         false},
        {"release",     step_release,     NULL,         false},
        /* clang-format on */
};

/* Returns the result of the step. */
static int step_run(struct transaction *t, const struct switch_step *step)
{
        int r;

        (void) copy_string(t->result.step, sizeof(t->result.step), step->name);
        report_step(t);
        if (t->lock >= 0) {
                r = record_write(t, t->result.step);
                if (r == -ESTALE)
                        return tx_fail(
                                t, UASD_EXIT_FAILED, r,
                                "it took too long, and the disk was given to any driver meanwhile");
                if (r < 0)
                        return r;
        }
        if (step->at_once && !tx_moved(t) && !t->trial.begun)
                signals_allow(t);
        r = step->run(t);
        signals_block();
        return r;
}

/* Undoes the first `n` steps. error: the result of the last one. */
static void steps_undo(struct transaction *t, size_t n, int error)
{
        bool failed;

        (void) tx_fail(t, tx_moved(t) ? UASD_EXIT_ROLLED_BACK : UASD_EXIT_FAILED, error, "%s: %s",
                       t->result.step, strerror(-error));
        failed = tx_moved(t) && t->blame.guilt == GUILT_SUSPECTED && !signal_waits() &&
                 driver_registered(t) && attachment_there(t);
        t->blame.guilt = failed ? GUILT_FAILED : GUILT_NONE;
        t->blame.taken_off =
                t->scan.since.usec && usb_disk_driver(&t->roots, t->interface) != t->to;
        t->blame.answered = false;
        if (failed) /* otherwise a recovery would take the switch for a success */
                (void) record_write(t, t->result.step);
        while (n-- > 0)
                if (steps[n].undo)
                        steps[n].undo(t);
}

int transaction_run(struct transaction *t)
{
        size_t n = 0;
        int r;

        finish_earlier(t);
        t->before.began = now_awake();
        (void) now_and_asleep(&t->before.asleep);
        if (t->hold.deadline) {
                usec_t now = now_boottime();

                t->hold.until = awake_in(t->hold.deadline > now ? t->hold.deadline - now : 0);
        }
        do
                r = step_run(t, &steps[n++]);
        while (r == 0 && n < ELEMENTSOF(steps));
        if (r < 0)
                steps_undo(t, n, r);
        uevents_close(TAKE_PTR(t->events));
        settle_unplugged(t);
        claim_drop(&t->claim);
        t->blame.log = close_keep_errno(t->blame.log);
        verify_end(t);
        pid1_forget(&t->pid1.stopping);
        return t->result.code;
}
