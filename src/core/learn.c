/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/learn.h"

#include <sys/param.h>

#include "common/exit-codes.h"
#include "common/sentence.h"
#include "common/util.h"
#include "core/disk-words.h"
#include "core/machine.h"

/* ---- what is known of a disk ---- */

void life_init(struct life *l)
{
        *l = (struct life){.disk = {.outcome.code = -1, .last_code = -1}, .timer = USEC_INFINITY};
}

bool life_has_disks(const struct life *l)
{
        return luns_with_disk(l->disk.luns, l->disk.n_luns) > 0;
}

bool life_has_luns(const struct life *l)
{
        return l->disk.n_luns > 0 && l->disk.facts.driver != DRIVER_NONE;
}

bool life_went_wrong(const struct life *l)
{
        return disk_went_wrong(&l->disk) || (l->lease.failed_before && !l->lease.active);
}

bool life_stranded(const struct life *l)
{
        return l->disk.facts.driver == DRIVER_NONE && disk_went_wrong(&l->disk);
}

void learn_retry(struct life *l, usec_t now)
{
        usec_t pause = USEC_PER_SEC << MIN(l->use.retries, 6U);

        l->use.retries++;
        l->use.retry_at = now + MIN(pause, RETRY_MOST_USEC);
}

static void learn_in_use(struct life *l, const struct event *e, usec_t now)
{
        l->use.busy = l->use.waited = true;
        l->use.free_since = 0;
        l->use.named = l->use.named || e->by_name;
        if (e->told) {
                l->use.hidden = e->by_name;
                l->use.retry_at = 0;
                if (e->by_name)
                        l->use.retries = 0;
                return;
        }
        /* no event may report the end of this use: perhaps a search by name can change that */
        if (!l->use.hidden)
                l->use.looked = false;
        l->use.hidden = true;
        if (!l->use.retry_at)
                learn_retry(l, now);
}

static void learn_users(struct life *l, const struct event *e, usec_t now)
{
        l->use.looked = true;
        if (e->in_use) {
                learn_in_use(l, e, now);
                return;
        }
        /* A claim met a user without a name, so no search shows its end. */
        if (e->by_name && !l->use.named && l->use.retry_at)
                return;
        l->use.busy = l->use.hidden = l->use.named = false;
        l->use.retry_at = 0;
        if (!l->use.free_since)
                l->use.free_since = now;
}

/*
 * The hold has ended, and the disk may be mounted: our claim must not make that fail. It is checked
 * again when something changes, or after a while.
 */
void learn_released(struct life *l, usec_t now)
{
        l->hold.active = l->use.hidden = false;
        l->use.looked = l->use.busy = l->use.waited = true;
        l->use.free_since = 0;
        l->use.retry_at = now + RELEASE_PAUSE_USEC;
}

/* ---- the lease ---- */

void lease_decide(struct life *l)
{
        struct facts *f = &l->disk.facts;
        enum driver target = f->override_target;
        bool forced = f->override_forced, policy_forced = f->policy_forced;

        /*
         * A lease counts like an override, and overrules no more than that. But it is temporary: a
         * policy that was set with
         * --force does not block it, and one for uas permits uas.
         */
        if (l->lease.active && l->lease.to != DRIVER_NONE) {
                f->override_target = l->lease.to;
                f->override_forced = l->lease.forced || (policy_forced && f->policy == POLICY_UAS);
                f->policy_forced = false;
        }
        decide(f, &l->disk.decision);
        f->override_target = target;
        f->override_forced = forced;
        f->policy_forced = policy_forced;
}

bool lease_wants(const struct life *l)
{
        const struct decision *d = &l->disk.decision;

        if (l->lease.active && (l->lease.to == DRIVER_NONE || d->target != l->lease.to))
                return false;
        return decision_wants_switch(&l->disk.facts, d);
}

static void lease_begin(struct life *l, bool failed)
{
        if (l->lease.active && !l->lease.over)
                return;
        l->lease.failed_before = failed;
        l->lease.active = true;
        l->lease.over = l->attempt.requested = false;
        l->lease.to = DRIVER_NONE;
}

static bool lease_move(struct life *l, const struct event *e)
{
        if (!l->lease.active || l->lease.over)
                return false;
        l->lease.over = e->type == EVENT_LEASE_ENDED;
        l->lease.to = e->target;
        l->lease.forced = l->lease.over ||
                          e->force; /* the way back to the former driver needs no permission */
        return true;
}

bool lease_goes_back(const struct life *l)
{
        struct decision d;

        decide(&l->disk.facts, &d);
        /* If it failed on uas meanwhile, it would be moved off it again at once. */
        if (l->lease.to == DRIVER_UAS && decision_flees(&l->disk.facts, &d))
                return false;
        return lease_wants(l);
}

/* ---- events ---- */

/* The attempts so far do not count any more. */
static void attempt_forget(struct life *l)
{
        l->use.looked = false;
        l->use.retry_at = l->attempt.not_before = 0;
        l->use.retries = l->attempt.flights = 0;
        l->disk.outcome.code = -1;
}

/* The request is not for what the switch does already. Between two drivers, and on the new one,
 * other rows fit: so this decides as before the switch. */
static bool attempt_overtaken(const struct life *l)
{
        struct life before;

        if (!l->attempt.running)
                return false;
        before = *l;
        before.disk.facts.just_unbound = false;
        if (l->attempt.from != DRIVER_NONE)
                before.disk.facts.driver = l->attempt.from;
        lease_decide(&before);
        return before.disk.decision.target != l->attempt.to;
}

static void attempt_start_over(struct life *l)
{
        l->attempt.overtaken = attempt_overtaken(l);
        l->attempt.requested = true;
        l->use.waited = l->use.hidden = l->use.named = false;
        l->use.free_since = 0;
        attempt_forget(l);
}

static void learn_request(struct life *l, const struct event *e)
{
        l->disk.facts.override_target = e->target;
        l->disk.facts.override_forced = e->force;
        l->cancelled = l->lease.failed_before = false;
        if (l->lease.over) /* the newer request */
                l->lease.active = l->lease.over = false;
        attempt_start_over(l);
}

/* Cancels only a waiting switch: a running one is not interrupted, and a finished one is not
 * undone. */
static void learn_cancelled(struct life *l, const struct event *e)
{
        bool waits = l->disk.state == STATE_WAITING || l->disk.state == STATE_HELD;

        if (l->attempt.running)
                return;
        l->attempt.requested = false;
        /* Cancels the request of the holder, not what follows the lease. */
        if (l->lease.active && !l->lease.over) {
                l->lease.to = DRIVER_NONE;
                return;
        }
        l->disk.facts.override_target = e->target;
        l->disk.facts.override_forced = e->force;
        if (!waits)
                return;
        l->lease.active = l->lease.over = false;
        l->use.looked = false; /* no search runs from now on */
        l->use.free_since = 0;
        lease_decide(l);
        /* if the present override and policy want no switch, there is nothing to cancel */
        l->cancelled = lease_wants(l);
}

/* The result of a switch that another process has started: its outcome is unknown. */
static void foreign_outcome(const struct life *l, const struct event *e, struct outcome *o)
{
        const struct disk *d = &l->disk;

        /* Deferred: our own switch was about to begin, or the disk of that switch was unplugged.
         * Otherwise it has failed. */
        if (!decision_wants_switch(&d->facts, &d->decision))
                o->code = UASD_EXIT_OK;
        else if (l->attempt.to != DRIVER_NONE || e->replugged)
                o->code = UASD_EXIT_DEFERRED;
        else
                o->code = UASD_EXIT_FAILED;
        (void) sentence(o->text, sizeof(o->text), "a switch begun earlier has ended; it is on %s",
                        driver_to_string(d->facts.driver));
}

static void learn_ended(struct life *l, const struct event *e, usec_t now)
{
        bool overtaken = l->attempt.overtaken;
        bool elsewhere = l->attempt.to != DRIVER_NONE && l->disk.facts.driver != l->attempt.to;
        struct outcome *o = &l->disk.outcome;

        *o = e->outcome;
        if (e->foreign)
                foreign_outcome(l, e, o);
        /* A killed switch has failed, unless the disk is on its target. */
        if (e->killed && l->attempt.to != DRIVER_NONE && !elsewhere) {
                *o = (struct outcome){.code = UASD_EXIT_OK};
                (void) sentence(o->text, sizeof(o->text),
                                "moved to %s, though uasd-switch was killed",
                                driver_to_string(l->attempt.to));
        }
        o->from = l->attempt.from;
        o->to = l->attempt.to;
        l->attempt.running = l->attempt.overtaken = false;
        l->attempt.from = l->attempt.to = DRIVER_NONE;
        if (o->code == UASD_EXIT_OK &&
            elsewhere) { /* otherwise the same switch would begin again and again */
                o->code = UASD_EXIT_FAILED;
                (void) sentence(o->text, sizeof(o->text),
                                "uasd-switch said that it was done, but the disk is on %s",
                                driver_to_string(l->disk.facts.driver));
        }
        l->disk.last_code = o->code;
        if (overtaken) { /* the result does not answer the newer request */
                o->code = -1;
                return;
        }
        if (o->code == UASD_EXIT_DEFERRED) {
                /* A quick search does not see this user, and perhaps no event reports its end. */
                l->use.busy = l->use.waited = true;
                l->use.hidden = life_has_disks(l);
                l->use.looked = l->use.named = false;
                l->use.free_since = 0;
                learn_retry(l, now);
        } else {
                l->attempt.requested = false;
                l->use.retries = 0;
                l->use.retry_at = 0;
        }
        if (disk_went_wrong(&l->disk)) {
                if (life_stranded(l))
                        l->attempt.not_before =
                                now + (STRANDED_PAUSE_USEC << 2 * l->attempt.flights);
                else
                        l->attempt.not_before = now + (FLIGHT_PAUSE_USEC << l->attempt.flights);
                l->attempt.flights += l->attempt.flights <= FLIGHTS_MOST;
                l->use.looked = l->use.busy = l->use.hidden = l->use.named = false;
                l->use.free_since = 0;
        }
}

void learn(struct life *l, const struct event *e, usec_t now)
{
        switch (e->type) {
        case EVENT_SCANNED:
        case EVENT_TIMER:
        case EVENT_ENVIRONMENT:
        case _EVENT_MAX:
                break;
        case EVENT_USERS:
                learn_users(l, e, now);
                break;
        case EVENT_HOLD:
                l->hold.active = true;
                l->hold.deadline = e->deadline;
                break;
        case EVENT_RELEASED:
                learn_released(l, now);
                break;
        case EVENT_REQUEST:
                learn_request(l, e);
                break;
        case EVENT_AGAIN:
                learn_request(l, &(struct event){.target = l->disk.facts.override_target,
                                                 .force = l->disk.facts.override_forced});
                break;
        case EVENT_CANCEL:
                learn_cancelled(l, e);
                break;
        case EVENT_TROUBLE:
                l->cancelled = l->lease.failed_before = false;
                attempt_forget(l);
                break;
        case EVENT_INHIBITED:
                if (l->inhibited && !e->on) { /* no search has run meanwhile */
                        l->use.looked = false;
                        l->use.free_since = 0;
                }
                l->inhibited = e->on;
                break;
        case EVENT_LEASED:
                lease_begin(l, life_went_wrong(l));
                break;
        case EVENT_LEASE_SWITCH:
        case EVENT_LEASE_ENDED:
                if (lease_move(l, e))
                        attempt_start_over(l);
                break;
        case EVENT_DONE:
                learn_ended(l, e, now);
                break;
        }
}
