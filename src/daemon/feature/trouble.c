/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/feature/trouble.h"

#include "common/log.h"
#include "daemon/feature/event-hooks.h"
#include "daemon/feature/keepoff.h"
#include "daemon/feature/report.h"
#include "daemon/work/marks.h"
#include "daemon/work/records.h"
#include "sys/block/counts.h"
#include "sys/io/clock.h"
#include "sys/state/attachment.h"
#include "sys/state/history.h"

/*
 * Disks that fail: records and reports their failures, and passes them to the machine. Under uas
 * the bridge may be to blame. Under usb-storage uas is not, also not for its earlier failures.
 */

/* If a failure cannot be recorded, uasd remembers it at least as long as the disk is there. */
static void trouble_remember(struct manager *m, struct entry *e, const struct record_task *rec,
                             int r)
{
        if (r >= 0)
                return;
        log_error("%s: what happened cannot be put on record: %s", rec->facts.interface,
                  strerror(-r));
        if (!e)
                return;
        if (!e->trouble.unkept)
                e->trouble.unkept = malloc(sizeof(*e->trouble.unkept));
        if (e->trouble.unkept)
                *e->trouble.unkept = rec->history;
}

void trouble_begin(struct entry *e, enum driver d)
{
        trouble_again(&e->trouble.account);
        trouble_driver(&e->trouble.account, d, e->trouble.account.trust);
        e->trouble.acted = false;
        e->trouble.failed = e->trouble.failed && d != DRIVER_UAS;
        kmsg_keep(e->manager);
}

void trouble_forget(struct entry *e)
{
        mark_keep(
                e, MARK_TROUBLE | MARK_TOLD,
                &(struct attachment_mark){.trouble = "", .told = event_hooks_again(e, DRIVER_UAS)});
        e->life.disk.facts.trouble = NULL;
}

void trouble_judge(struct entry *e, struct facts *f)
{
        record_judge(e->manager, f);
        if (e->trouble.unkept)
                history_judge_here(&e->manager->roots, e->trouble.unkept, f);
        if (e->manager->env.sleeping && f->trial_ended && f->driver == DRIVER_UAS)
                f->trial_open = true; /* trouble_sleep() */
        f->initramfs_old = history_initramfs_old(&e->manager->roots, f);
}

static void trouble_distrust(struct entry *e, const struct finding *finding)
{
        struct manager *m = e->manager;
        struct facts *f = &e->life.disk.facts;
        struct record_task rec = {
                .type = RECORD_HISTORY,
                .history = {.state = HISTORY_DISTRUSTED,
                            .failed = f->trial_open,
                            .lost = finding->fatal},
                .done = trouble_remember,
        };
        char *reason = rec.history.reason;
        size_t size = sizeof(rec.history.reason);
        int r;

        if (e->trouble.acted)
                return;
        e->trouble.acted = e->trouble.failed = true;
        if (finding->bursts > 1)
                (void) snprintf(reason, size, "%s, %u times within ten minutes", finding->what,
                                finding->bursts);
        else
                (void) copy_string(reason, size, finding->what);
        r = record_add(m, e, &rec);
        if (r < 0)
                trouble_remember(m, e, &rec, r);
        /* A user asked for uas, and it is on trial: an error still leads back. */
        if (f->trial_open)
                mark_drop_override(e, DRIVER_UAS);
        /* Reported together with the decision. */
        record_complete(e, f);
        trouble_judge(e, f);
        decide(f, &e->life.disk.decision);
        report_distrust(e, reason);
        if (f->initramfs_old)
                report_old_initramfs(e);
        queue_event(e, &(struct event){.type = EVENT_TROUBLE});
}

/* Ends the distrust. The record remembers the failure under usb-storage. */
static void trouble_clear(struct entry *e, const char *what)
{
        struct manager *m = e->manager;
        struct facts *f = &e->life.disk.facts;
        struct record_task rec = {
                .type = RECORD_HISTORY, .history.state = HISTORY_CLEARED, .done = trouble_remember};
        int r;

        (void) copy_string(rec.history.reason, sizeof(rec.history.reason), what);
        r = record_add(m, e, &rec);
        if (r < 0)
                trouble_remember(m, e, &rec, r);
        else
                free(TAKE_PTR(e->trouble.unkept));
        report_cleared(e, f->distrust_reason);
        keepoff_schedule(m);
}

/*
 * The disk fails under usb-storage. It stays there for the rest of this attachment: under uas it
 * would fail as well, and be moved to and fro.
 */
static void trouble_diagnose(struct entry *e, const struct finding *finding)
{
        struct manager *m = e->manager;
        struct facts *f = &e->life.disk.facts;
        bool uncertain = finding->blame == BLAME_UNKNOWN,
             broken = finding->finding == FINDING_CLEARED || uncertain;
        struct attachment_mark mark = {};

        if (finding->finding == FINDING_CLEARED && f->distrusted && !e->trouble.acted)
                trouble_clear(e, finding->what);
        e->trouble.acted = e->trouble.acted || broken;
        e->trouble.failed = e->trouble.failed || broken;
        if (f->trouble)
                return;
        f->trouble_cause = uncertain ? BLAME_NONE : finding->blame;
        f->trouble = finding->what;
        (void) snprintf(mark.trouble, sizeof(mark.trouble), "%s %s",
                        blame_to_string(f->trouble_cause), f->trouble);
        mark_keep(e, MARK_TROUBLE, &mark);
        report_diagnosis(e);
        queue_rescan(m, f->interface);
}

static void trouble_take_finding(struct entry *e, const struct finding *f)
{
        if (e->life.disk.facts.driver == DRIVER_USB_STORAGE) {
                if (f->finding == FINDING_CLEARED || f->finding == FINDING_BLAMED)
                        trouble_diagnose(e, f);
                return;
        }
        if (f->finding == FINDING_NOTED)
                log_notice("%s: trouble on uas, no distrust yet: %s. To blame: %s",
                           e->life.disk.facts.interface, f->what, blame_sentence(f->blame));
        else if (f->finding == FINDING_BROKEN && !facts_uas_alone(&e->life.disk.facts))
                trouble_distrust(e, f);
        else if (f->finding == FINDING_BROKEN) { /* uas is its only driver */
                if (!e->trouble.acted)
                        report_trouble(e, f);
                e->trouble.acted = e->trouble.failed = true;
        } else if (f->finding == FINDING_BLAMED)
                report_trouble(e, f);
}

/* ---- counters of the SCSI layer; the log may have lost records ---- */

/* Number of command timeouts since the driver took the disk. */
static uint64_t trouble_timeouts(const struct entry *e)
{
        const struct disk *d = &e->life.disk;
        uint64_t sum = 0, count;

        for (size_t i = 0; i < d->n_luns; i++)
                if (d->luns[i].disk.name[0] &&
                    scsi_count_read(&e->manager->roots, d->luns[i].disk.name, SCSI_COUNT_TIMEOUTS,
                                    &count) >= 0)
                        sum += count;
        return sum;
}

/*
 * Returns true if the number has grown, which counts like a sign of that time. The log's signs of
 * these timeouts are in the same burst. The kernel's records have a clock that NTP does not correct
 * (local_clock()). After weeks it differs from CLOCK_MONOTONIC by more than the gap between two
 * bursts. So a number that is read after a record has the time of the record.
 */
static bool trouble_count_timeouts(struct entry *e, usec_t usec)
{
        static const struct sign silent = {.blame = BLAME_BRIDGE,
                                           .weight = WEIGHT_HIGH,
                                           .handling = true,
                                           .what = "commands were not answered in time"};
        uint64_t before = e->trouble.account.timeouts;
        struct finding finding;

        e->trouble.account.timeouts = trouble_timeouts(e);
        if (e->trouble.account.timeouts <= before) /* smaller: the SCSI devices are new ones */
                return false;
        trouble_take(&e->trouble.account, &silent, usec, &finding);
        trouble_take_finding(e, &finding);
        return true;
}

static enum trust trust_of(const struct facts *f)
{
        if (f->distrusted)
                return TRUST_DISTRUSTED;
        if (f->cleared)
                return TRUST_CLEARED;
        return TRUST_GOOD;
}

/* Each driver has its own account, also if another program moves the disk. */
static void trouble_follow(struct entry *e)
{
        const struct facts *f = &e->life.disk.facts;
        struct trouble *t = &e->trouble.account;

        if (e->life.attempt.running)
                return;
        if (t->driver != f->driver) {
                trouble_begin(e, f->driver);
                t->timeouts = trouble_timeouts(e); /* the switch has judged these */
        }
        trouble_driver(t, f->driver, trust_of(f));
}

static bool trouble_is_watched(const struct entry *e)
{
        enum driver d = e->life.disk.facts.driver;

        return !e->life.attempt.running && (d == DRIVER_UAS || d == DRIVER_USB_STORAGE);
}

void trouble_switched(struct entry *e)
{
        e->trouble.account.asleep = false; /* the end of a sleep may have come during the switch */
        trouble_follow(e);
        if (e->life.disk.facts.driver == DRIVER_UAS && !e->life.attempt.running &&
            trouble_count_timeouts(e, now_monotonic()))
                kmsg_keep(e->manager);
        if (e->manager->env.sleeping) /* the sleep waits for this switch and the end of its trial */
                trouble_sleep(e->manager);
}

/* ---- the kernel's log ---- */

bool trouble_sign(struct manager *m, const struct sign *s, usec_t usec, bool live)
{
        bool any = false;

        /* A new host may be the same disk, bound again after a failed reset. */
        if (live && s->weight == WEIGHT_NEW)
                return false;
        FOREACH_ENTRY (e, m) {
                bool counts = trouble_is_watched(e); /* during a switch uasd-switch decides */
                struct finding f;
                struct sign own;

                if (counts)
                        trouble_follow(e);
                if (!sign_about(s, &e->life.disk.facts, e->life.disk.host, &own) ||
                    !(counts || own.excuses))
                        continue;
                trouble_take(&e->trouble.account, &own, usec, &f);
                if (!counts) { /* it excuses what comes later, and is reported then */
                        e->trouble.account.told = BLAME_NONE;
                        continue;
                }
                any = any || f.finding != FINDING_NONE;
                trouble_take_finding(e, &f);
                if (live && f.finding != FINDING_BROKEN && !e->trouble.account.gone)
                        any = trouble_count_timeouts(e, usec) || any;
        }
        return any;
}

/* ---- trials ---- */

static void trouble_passed(struct manager *m, struct entry *e, const struct record_task *rec, int r)
{
        if (r < 0)
                log_warning("%s: that it passed its trial cannot be put on record: %s",
                            rec->facts.interface, strerror(-r));
        else if (e && !e->trouble.acted)
                report_trial(e);
}

/*
 * The time of the trial is over. It passes if the disk had no trouble in all of it. Otherwise the
 * machine calls this again after another such time.
 */
void trouble_trial_over(struct entry *e)
{
        struct manager *m = e->manager;
        const struct facts *f = &e->life.disk.facts;
        struct record_task rec = {.type = RECORD_HISTORY, .done = trouble_passed};
        struct history *h = &rec.history;
        int r;

        if (trouble_count_timeouts(e, now_monotonic())) {
                kmsg_keep(m);
                return;
        }
        if (trouble_pending(&e->trouble.account, now_monotonic()) || record_pending(m, f))
                return;
        if (record_read(m, f, h) <= 0 || h->state != HISTORY_TRIAL)
                *h = (struct history){.state = HISTORY_TRIAL};
        h->state = h->distrusted ? HISTORY_DISTRUSTED : HISTORY_PASSED;
        h->distrusted = false;
        r = record_add(m, e, &rec);
        if (r < 0)
                trouble_passed(m, e, &rec, r);
}

/*
 * A machine may lose its power while it sleeps, and that is no fault of the bridge. So no trial is
 * open on record meanwhile. For the machine it goes on.
 */
void trouble_sleep(struct manager *m)
{
        FOREACH_ENTRY (e, m) {
                struct facts *f = &e->life.disk.facts;

                if (m->env.sleeping && f->trial_open && !f->trial_ended && !f->distrusted)
                        f->trial_ended =
                                record_add(m, e, &(struct record_task){.type = RECORD_END_TRIAL}) >=
                                0;
                else if (!m->env.sleeping && f->trial_open && f->trial_ended) {
                        f->trial_ended = false;
                        (void) record_add(m, e,
                                          &(struct record_task){.type = RECORD_HISTORY,
                                                                .history.state = HISTORY_TRIAL});
                }
        }
}

/* For a disk that is new to this uasd: its trial may have begun before, or have ended with the
 * machine. */
void trouble_adopt(struct entry *e)
{
        struct manager *m = e->manager;
        struct facts *f = &e->life.disk.facts;
        struct history h;

        trouble_driver(&e->trouble.account, f->driver, trust_of(f));
        e->trouble.account.timeouts =
                /* timeouts before uasd listened; the kept number of an earlier uasd replaces it */
                trouble_timeouts(e);
        if (facts_uas_alone(f))
                return;
        if (f->trial_failed && record_read(m, f, &h) > 0 && h.state == HISTORY_TRIAL) {
                h = (struct history){.state = HISTORY_DISTRUSTED, .failed = true};
                (void) copy_string(h.reason, sizeof(h.reason),
                                   "the machine went down in the middle of its trial");
                report_distrust(e, h.reason);
                /* early in a boot the record may fail: the next uasd does it again */
                (void) record_add(m, e,
                                  &(struct record_task){.type = RECORD_HISTORY, .history = h});
        } else if (f->trial_ended && f->driver == DRIVER_UAS && !m->env.stopping)
                f->trial_open =
                        record_add(m, e,
                                   &(struct record_task){.type = RECORD_HISTORY,
                                                         .history.state = HISTORY_TRIAL}) >= 0;
        if (f->initramfs_old)
                report_old_initramfs(e);
        keepoff_schedule(m);
}

void trouble_end(const struct manager *m)
{
        /* uasd-trials.service does it, too, where it is installed: also if uasd has died. */
        int r = history_end_trials(&m->roots, NULL);

        if (r < 0)
                log_warning(
                        "Cannot end the trials of this boot: %s. The next boot counts them as failed.",
                        strerror(-r));
}

/* ---- disks that drop off the bus by themselves and come back ---- */

void trouble_came(struct entry *e)
{
        usec_t asleep, now = now_and_asleep(&asleep);
        unsigned times = drops_came(&e->manager->drops, &e->life.disk.facts, now, asleep);

        if (times > 0)
                report_dropping(e, times);
}

void trouble_gone(struct entry *e)
{
        usec_t asleep, now = now_and_asleep(&asleep);

        drops_gone(&e->manager->drops, &e->life.disk.facts,
                   e->life.attempt.running || e->trouble.failed, now, asleep);
        if (e->life.disk.facts.trial_open || e->life.attempt.running)
                (void) record_add(e->manager, e, &(struct record_task){.type = RECORD_END_TRIAL});
}
