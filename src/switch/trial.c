/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <poll.h>

#include "common/gettext.h"
#include "common/log.h"
#include "common/names.h"
#include "common/sentence.h"
#include "core/kmsg.h"
#include "core/machine.h"
#include "core/trouble.h"
#include "switch/record.h"
#include "switch/signals.h"
#include "switch/transaction.h"
#include "switch/trial.h"
#include "sys/io/boot.h"
#include "sys/io/clock.h"
#include "sys/state/attachment.h"
#include "sys/state/history.h"

#define GONE_BUDGET (5 * USEC_PER_SEC)
#define LOOK_AGAIN_MSEC 100

/*
 * A disk may fail because of its machine: it had too little power, its controller died, it was
 * reset after a sleep, or an administrator has unbound it. logind's inhibitor delays a sleep for
 * five seconds, and a write to /sys/power/state asks no program.
 */

/* more than the kernel's log has; it may be filled faster than it is read */
#define RECORDS_MAX 65536

/* The kernel's reports about the disk. */
struct reports {
        /* what happened to its power or its controller around this switch; NULL: nothing */
        const char *excuse;
        bool fault; /* the bridge has failed */
};

static int open_log(const struct transaction *t)
{
        return openat(t->roots.dev, "kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

static void log_remember(struct transaction *t)
{
        t->blame.log = open_log(t);
        if (t->blame.log >= 0 && lseek(t->blame.log, 0, SEEK_END) < 0)
                t->blame.log = close_keep_errno(t->blame.log);
}

static struct reports read_reports(const struct transaction *t, int log, usec_t since)
{
        struct reports reports = {0};
        struct kmsg k;
        struct sign s;

        for (unsigned i = 0; i < RECORDS_MAX && log >= 0 && kmsg_next(log, &k) > 0; i++) {
                if (k.usec < since || !sign_read(&k, &s) ||
                    !sign_about(&s, &t->disk.facts, t->disk.host, &s))
                        continue;
                /* A bad place excuses uas only if the old driver cannot read it either (reread.c).
                 */
                if (s.excuses && s.blame != BLAME_DISK)
                        reports.excuse = s.what;
                /* The number of the new host is not known. But each reset is reported about the USB
                 * device as well. */
                else if (s.blame == BLAME_BRIDGE && s.place == PLACE_DEVICE)
                        reports.fault = true;
        }
        return reports;
}

/*
 * The times in the log are those of local_clock(), which no program sets right: after weeks they
 * differ by minutes from CLOCK_MONOTONIC. So they only find what came before the switch.
 *
 * Returns what has happened to the machine during this switch, so that a failure says nothing about
 * the disk; NULL: nothing.
 */
static const char *machine_excuses(const struct transaction *t)
{
        _cleanup_close_ int whole = open_log(t);
        usec_t began = t->before.began.usec ?: now_awake().usec, asleep;
        struct reports before = read_reports(t, whole,
                                             began > EXCUSE_USEC ? began - EXCUSE_USEC : 0),
                       since = read_reports(t, t->blame.log, 0);

        /* Without `began` this is a recovery, which does not know the time of the switch. */
        (void) now_and_asleep(&asleep);
        if (t->before.began.usec && asleep >= t->before.asleep + ASLEEP_LEAST_USEC)
                return N_("the machine slept meanwhile");
        if (since.excuse || before.excuse)
                return since.excuse ?: before.excuse;
        /* The kernel itself unbinds uas only after a reset that has failed. */
        if (t->blame.taken_off && t->blame.log >= 0 && !since.fault)
                return N_("another program has taken it off uas");
        return NULL;
}

/*
 * A machine that dies in the first minutes of a disk on uas must not die again at each boot. So the
 * trial is recorded durably before the disk is moved. Without a record there is no trial. A disk
 * that supports only UAS has no other driver, so it needs no trial.
 */
int step_trial(struct transaction *t)
{
        const struct facts *f = &t->disk.facts;
        struct history h = {.state = HISTORY_TRIAL};
        bool again;
        int r;

        if (t->to != DRIVER_UAS || t->trial.begun)
                return 0;
        if (t->blame.log < 0)
                log_remember(t);
        if (f->trial_passed || f->trial_open || facts_uas_alone(f))
                return 0;
        again = history_read(&t->roots, f, &t->trial.past) > 0;
        /* The user asked for uas despite a record. The record applies again when this trial ends.
         */
        if (f->distrusted && again) {
                h = t->trial.past;
                h.state = HISTORY_TRIAL;
                h.distrusted = true;
        }
        r = history_write(&t->roots, f, &h);
        if (r < 0)
                return tx_fail(t, UASD_EXIT_DEFERRED, r, "its trial cannot be put on record: %s",
                               strerror(-r));
        t->trial.begun = again ? TRIAL_AGAIN : TRIAL_FIRST;
        return 0;
}

static void trial_warn(const struct transaction *t, int r)
{
        if (r < 0)
                log_warning("%s: the end of its trial cannot be put on record: %s", t->interface,
                            strerror(-r));
}

/*
 * A failure counts only while the disk is there. When a disk is unplugged, the kernel reports I/O
 * errors first. It reports the disconnect when the hub's worker comes to that port. Another port of
 * the hub may delay the worker for seconds (debounce, enumeration). A disk that has answered since
 * it failed was not unplugged.
 */
static bool still_there(const struct transaction *t)
{
        struct awake deadline = awake_in(GONE_BUDGET);

        while (attachment_there(t)) {
                if (t->blame.answered || awake_left(deadline) == 0)
                        return true;
                (void) poll(NULL, 0, LOOK_AGAIN_MSEC);
        }
        return false;
}

/* Ends the trial that this switch has begun: without a result, or as if it had not begun if nothing
 * was tried. */
static int trial_end(const struct transaction *t)
{
        const struct facts *f = &t->disk.facts;

        if (t->trial.begun && (!tx_tried(t) || !attachment_there(t)))
                return history_put_back(&t->roots, f,
                                        t->trial.begun == TRIAL_AGAIN ? &t->trial.past : NULL);
        return history_end_trials(&t->roots, f);
}

/* Distrusts a disk that failed under uas. If the bind was not even tried, or the disk was not to
 * blame, there was no trial. */
void undo_trial(struct transaction *t)
{
        const struct facts *f = &t->disk.facts;
        struct history h = {.state = HISTORY_DISTRUSTED, .failed = true};
        const char *excuse = NULL;
        int r = 0;

        if (t->to != DRIVER_UAS)
                return;
        if (tx_failed(t))
                excuse = machine_excuses(t);
        if (excuse)
                sentence_add(t->result.text, sizeof(t->result.text), "; %s", excuse);
        if (tx_failed(t) && !excuse && still_there(t) && t->blame.guilt == GUILT_FAILED &&
            record_check(t) >= 0) {
                (void) copy_string(h.reason, sizeof(h.reason), t->result.text);
                r = facts_uas_alone(f) ? 0 : history_write(&t->roots, f, &h);
                /* The override was tried. If the disk could not be rolled back, it must not stay on
                 * uas because of it. */
                (void) attachment_drop_override(&t->roots, f, DRIVER_UAS);
        } else if (t->trial.begun)
                r = trial_end(t);
        t->trial.begun = TRIAL_NONE;
        trial_warn(t, r);
}

/* Returns true if uasd runs, which would end a trial. */
static bool uasd_runs(const struct transaction *t)
{
        struct flock lock = {.l_type = F_RDLCK};
        _cleanup_close_ int fd =
                openat(t->roots.run, RUN_DAEMON_LOCK, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

        return fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) >= 0 && lock.l_type != F_UNLCK;
}

/*
 * A disk off uas or unplugged has no trial: it cannot be the reason if the machine dies later.
 * Without uasd no process would end the trial. uasd may have stopped because the machine goes down;
 * it begins the trial again when it starts.
 */
void trial_leave(struct transaction *t)
{
        enum driver now = usb_disk_driver(&t->roots, t->interface);

        if ((t->trial.begun || t->disk.facts.trial_open) &&
            (now == DRIVER_USB_STORAGE ||
             (now == DRIVER_UAS && (signal_waits() || !uasd_runs(t))) || !attachment_there(t)))
                trial_warn(t, trial_end(t));
}
