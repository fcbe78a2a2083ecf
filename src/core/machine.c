/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/machine.h"
#include "core/learn.h"

#include <assert.h>
#include <sys/param.h>

#include "common/exit-codes.h"

static struct action *actions_add(struct actions *a, enum action_type type)
{
        struct action *last = &a->list[a->n];

        assert(a->n < ACTIONS_MAX);
        a->n++;
        *last = (struct action){.type = type};
        return last;
}

/*
 * One automatic attempt for each attachment: otherwise hold, switch, roll-back and hold would never
 * end. A disk that must leave uas has a few: a sick one may have been busy with udev's commands at
 * the first attempt. Another target than that of the last attempt is a new wish: the user has
 * changed uasd.conf, a rule or the quirks parameter.
 */
static bool attempt_used_up(const struct life *l)
{
        bool same = l->attempt.last == DRIVER_NONE || l->attempt.last == l->disk.decision.target;

        if (life_stranded(l))
                return false;
        /* The attempt that moved it to uas does not count. */
        if (decision_flees(&l->disk.facts, &l->disk.decision))
                return l->attempt.flights > FLIGHTS_MOST;
        return life_went_wrong(l) || (l->attempt.tried && same && !l->attempt.requested);
}

/* After a lease: ends when the disk is back on its former driver, or cannot go there. */
static void machine_settle_lease(struct life *l)
{
        if (!l->lease.over || l->attempt.running || (!life_went_wrong(l) && lease_goes_back(l)))
                return;
        l->lease.active = l->lease.over = l->attempt.requested = l->use.looked = false;
        l->use.free_since = 0;
        lease_decide(l);
}

/* ---- the state ---- */

/* Returns the state of a disk that stays on its driver. */
static enum state disk_rest_state(const struct disk *d)
{
        /* Rolled back and then distrusted: it is on its target now, but the switch was no success.
         */
        if (d->outcome.code == UASD_EXIT_ROLLED_BACK && decision_flees(&d->facts, &d->decision))
                return STATE_FAILED;
        if (d->decision.rest == STATE_SETTLED && d->facts.driver == DRIVER_UAS &&
            d->facts.trial_open)
                return STATE_TRIAL;
        return d->decision.rest;
}

enum state state_derive(const struct disk *d, const struct standing *s)
{
        assert(d->decision.rest != STATE_SWITCHING && d->decision.rest != STATE_HELD &&
               d->decision.rest != STATE_WAITING);
        if (s->switching)
                return STATE_SWITCHING;
        if (s->held)
                return STATE_HELD;
        if (!s->wanted)
                return disk_rest_state(d);
        if (s->used_up)
                return STATE_FAILED;
        return STATE_WAITING;
}

static enum state machine_derive(const struct life *l)
{
        const struct standing s = {
                .switching = l->attempt.running,
                .held = l->hold.active,
                .wanted = lease_wants(l) && (!l->cancelled || l->lease.active),
                .used_up = attempt_used_up(l),
        };

        return state_derive(&l->disk, &s);
}

/* ---- the actions ---- */

static void machine_begin_switch(struct life *l, struct actions *ret)
{
        struct action *a = actions_add(ret, ACTION_SWITCH);

        assert(!l->attempt.running && !l->inhibited);
        assert(decision_wants_switch(&l->disk.facts, &l->disk.decision));
        assert(!l->hold.active || l->hold.deadline != 0);
        a->target = l->disk.decision.target;
        a->automatic = !l->attempt.requested && !l->lease.active;
        a->plugged = l->hold.active || !life_has_disks(l);
        if (l->hold.active)
                a->deadline = l->hold.deadline;
        l->attempt.running = true;
        l->attempt.from = l->disk.facts.driver;
        l->attempt.to = a->target;
}

/* Returns the time of the next step. */
static usec_t machine_act_held(struct life *l, const struct environment *env, usec_t now,
                               struct actions *ret, struct actions *last)
{
        usec_t start = MAX(now, MAX(l->use.retry_at, l->attempt.not_before));
        bool try = lease_wants(l) && (!l->cancelled || l->lease.active) && !attempt_used_up(l) &&
                   !l->inhibited && !env->stopping && !env->sleeping &&
                   l->hold.deadline >= start + HOLD_LEAST_USEC;

        /* The disk appeared during the switch, or a process opened it: the hold has time for
         * another attempt. */
        if (try && start > now)
                return start;
        if (try)
                machine_begin_switch(l, last);
        else {
                (void) actions_add(ret, ACTION_RELEASE);
                learn_released(l, now);
        }
        return USEC_INFINITY;
}

/* Returns the time of the next step. */
static usec_t machine_act_waiting(struct life *l, const struct environment *env, usec_t now,
                                  struct actions *last)
{
        usec_t ready;

        if (env->stopping || env->sleeping || l->inhibited)
                return USEC_INFINITY;
        /*
         * Inside delay_use, or without a driver, the disk cannot have users yet. A SCSI device
         * without a block device is different: the kernel probes it, for up to 100 s during a
         * spin-up, and may add the disk at any moment. uasd waits for its uevent. The uevent may be
         * lost, and the disk may never come. So the switch itself checks now and then.
         */
        if (!life_has_disks(l)) {
                if (life_has_luns(l) && !env->booted)
                        return USEC_INFINITY;
                if (life_has_luns(l) && !l->use.retry_at)
                        learn_retry(l, now);
                ready = MAX(l->use.retry_at, l->attempt.not_before);
                if (now < ready)
                        return ready;
                machine_begin_switch(l, last);
                return USEC_INFINITY;
        }
        /* A claim would make fsck or mount fail. */
        if (!env->booted)
                return USEC_INFINITY;
        if (l->use.retry_at && now >= l->use.retry_at) {
                l->use.looked = false;
                l->use.retry_at = 0;
        }
        if (!l->use.looked) {
                l->use.looked = true;
                (void) actions_add(last, ACTION_LOOK);
                return l->use.retry_at ?: USEC_INFINITY;
        }
        if (l->use.busy || !l->use.free_since) /* or the search has not answered yet */
                return l->use.retry_at ?: USEC_INFINITY;
        ready = l->use.free_since;
        if (!l->attempt.requested || l->use.waited)
                ready += env->quiet_usec;
        ready = MAX(ready, l->attempt.not_before);
        if (now < ready)
                return ready;
        machine_begin_switch(l, last);
        return USEC_INFINITY;
}

/* Returns the time of the next step. */
static usec_t machine_act_trial(struct life *l, const struct environment *env, usec_t now,
                                struct actions *last)
{
        if (!l->trial.until) {
                l->trial.until = now + env->trial_usec;
                l->trial.asleep = env->asleep_usec;
        }
        if (env->asleep_usec >= l->trial.asleep + ASLEEP_LEAST_USEC) {
                l->trial.until += env->asleep_usec - l->trial.asleep;
                l->trial.asleep = env->asleep_usec;
        }
        if (now >= l->trial.until) {
                l->trial.until = now + MAX(env->trial_usec, TRIAL_AGAIN_USEC);
                (void) actions_add(last, ACTION_PASSED);
        }
        return l->trial.until;
}

static void machine_watch(struct life *l, bool wanted, struct actions *ret)
{
        if (l->watched != wanted)
                (void) actions_add(ret, wanted ? ACTION_WATCH : ACTION_UNWATCH);
        l->watched = wanted;
}

/* Invariants after every step. */
static void machine_check(const struct life *l)
{
        assert((l->disk.state == STATE_SWITCHING) == l->attempt.running);
        assert(!l->watched || l->disk.state == STATE_WAITING);
        /* A hold is undecided only as long as there is time for a switch and its undo. */
        assert(l->disk.state != STATE_HELD ||
               (l->timer != USEC_INFINITY && l->timer + HOLD_LEAST_USEC <= l->hold.deadline));
        assert(!l->lease.over || l->lease.active);
}

void machine_step(struct life *l, const struct environment *env, const struct event *e, usec_t now,
                  struct actions *ret)
{
        enum state before = l->disk.state;
        enum reason reason = l->disk.decision.reason;
        bool inhibited = l->inhibited;
        int code = l->disk.outcome.code;
        usec_t wake = USEC_INFINITY;
        /* Actions that may post an event come last. */
        struct actions last = {.n = 0};

        ret->n = 0;
        learn(l, e, now);
        lease_decide(l);
        machine_settle_lease(l);
        if (machine_derive(l) == STATE_HELD)
                wake = machine_act_held(l, env, now, ret, &last);
        if (machine_derive(l) == STATE_WAITING) {
                /* The watch comes first, so that it sees events during the search. */
                machine_watch(l, life_has_disks(l) && !l->inhibited, ret);
                wake = machine_act_waiting(l, env, now, &last);
        }
        l->disk.state = machine_derive(l);
        l->disk.cancelled = l->cancelled && !l->lease.active && lease_wants(l);
        if (l->disk.state == STATE_TRIAL)
                wake = machine_act_trial(l, env, now, &last);
        else
                l->trial.until = 0;
        if (l->disk.state != STATE_WAITING) {
                machine_watch(l, false, ret);
                l->waiting_since = 0;
        } else if (!l->waiting_since) {
                l->waiting_since = now;
        }
        if (wake != l->timer) {
                actions_add(ret, ACTION_TIMER)->deadline = wake;
                l->timer = wake;
        }
        if (l->disk.state != before || l->disk.outcome.code != code ||
            (l->disk.decision.reason != reason && l->disk.state != STATE_SWITCHING) ||
            (l->inhibited != inhibited && l->disk.state == STATE_WAITING))
                (void) actions_add(ret, ACTION_REPORT);
        for (size_t i = 0; i < last.n; i++)
                ret->list[ret->n++] = last.list[i];
        machine_check(l);
}
