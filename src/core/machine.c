/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/machine.h"

#include "core/learn.h"
#include "core/lease.h"
#include "core/state.h"

static struct action *act(struct actions *a, enum action_type type)
{
        struct action *last = &a->list[a->n];

        a->n++;
        *last = (struct action){ .type = type };
        return last;
}

/* The try that brought it to uas does not count. */
static bool flees(const struct life *l)
{
        return decision_flees(&l->disk.facts, &l->disk.decision);
}

/*
 * One automatic try an attachment: hold, switch, rollback, hold would never end. A disk that cannot stay where it is
 * has a few: a sick one may have been busy answering udev just when it was to be taken off uas.
 */
static bool used_up(const struct life *l)
{
        if (life_stranded(l))
                return false;
        if (flees(l))
                return l->flights > FLIGHTS_MOST;
        return life_went_wrong(l) || (l->tried && !l->requested);
}

/* After a lease: back where it was, or as near as it gets. */
static void lease_settle(struct life *l)
{
        if (!l->lease_over || l->running || (!life_went_wrong(l) && lease_goes_back(l)))
                return;
        l->leased = l->lease_over = l->requested = l->looked = false;
        l->free_since = 0;
        lease_decide(l);
}

/* ---- what state that comes to ---- */

static enum state derive(const struct life *l)
{
        const struct standing s = {
                .switching = l->running,
                .held = l->held,
                .wanted = lease_wants(l) && (!l->cancelled || l->leased),
                .used_up = used_up(l),
        };

        return state_derive(&l->disk, &s);
}

/* ---- and what is to be done about it ---- */

static uint64_t later(uint64_t a, uint64_t b)
{
        return a > b ? a : b;
}

static void begin(struct life *l, struct actions *ret)
{
        struct action *a = act(ret, ACTION_SWITCH);

        a->target = l->disk.decision.target;
        a->automatic = !l->requested && !l->leased;
        a->plugged = l->held || !life_has_disks(l);
        a->deadline = l->held ? l->hold_deadline : 0;
        l->running = true;
        l->came_from = l->disk.facts.driver;
        l->going_to = a->target;
}

/* Returns when to be woken. */
static uint64_t act_held(struct life *l, const struct environment *env, uint64_t now, struct actions *ret,
                         struct actions *last)
{
        uint64_t start = later(now, later(l->retry_at, l->not_before));
        bool try = lease_wants(l) && (!l->cancelled || l->leased) && !used_up(l) && !l->inhibited && !env->stopping && !env->sleeping &&
                   l->hold_deadline >= start + HOLD_LEAST_USEC;

        /* It appeared under the switch's hands, or somebody looked at it: a hold has time for another try. */
        if (try && start > now)
                return start;
        if (try) {
                l->retry_at = 0;
                begin(l, last);
        } else {
                (void) act(ret, ACTION_RELEASE);
                learn_released(l, now);
        }
        return USEC_INFINITY;
}

/* Returns when to be woken. */
static uint64_t act_waiting(struct life *l, const struct environment *env, uint64_t now, struct actions *last)
{
        uint64_t ready;

        if (env->stopping || env->sleeping || l->inhibited)
                return USEC_INFINITY;
        /*
         * Inside delay_use, or driverless: there is nothing yet that anybody could use. A SCSI device without a block device is no
         * such thing: the kernel probes it, for up to 100 s where a disk spins up, and may show the disk at any moment. Its uevent is
         * waited for. It may be lost, and the disk may never come: so the switch itself looks again now and then.
         */
        if (!life_has_disks(l)) {
                if (life_has_luns(l) && !env->booted)
                        return USEC_INFINITY;
                if (life_has_luns(l) && !l->retry_at)
                        learn_retry(l, now);
                ready = later(l->retry_at, l->not_before);
                if (now < ready)
                        return ready;
                begin(l, last);
                return USEC_INFINITY;
        }
        /* A claim that meets fsck or mount would make them fail. */
        if (!env->booted)
                return USEC_INFINITY;
        if (l->retry_at && now >= l->retry_at) {
                l->looked = false;
                l->retry_at = 0;
        }
        if (!l->looked) {
                l->looked = true;
                act(last, ACTION_LOOK)->by_name = l->hidden;
                return l->retry_at ? l->retry_at : USEC_INFINITY;
        }
        if (l->in_use || !l->free_since) /* or the look has not told yet */
                return l->retry_at ? l->retry_at : USEC_INFINITY;
        ready = later(l->not_before, l->free_since + (l->requested && !l->waited ? 0 : env->quiet_usec));
        if (now < ready)
                return ready;
        begin(l, last);
        return USEC_INFINITY;
}

/* Returns when to be woken. */
static uint64_t act_trial(struct life *l, const struct environment *env, uint64_t now, struct actions *last)
{
        if (!l->trial_until) {
                l->trial_until = now + env->trial_usec;
                l->trial_asleep = env->asleep_usec;
        }
        if (env->asleep_usec >= l->trial_asleep + ASLEEP_LEAST_USEC) {
                l->trial_until += env->asleep_usec - l->trial_asleep;
                l->trial_asleep = env->asleep_usec;
        }
        if (now >= l->trial_until) {
                l->trial_until = now + later(env->trial_usec, TRIAL_AGAIN_USEC);
                (void) act(last, ACTION_PASSED);
        }
        return l->trial_until;
}

static void watch(struct life *l, bool wanted, struct actions *ret)
{
        if (l->watched != wanted)
                (void) act(ret, wanted ? ACTION_WATCH : ACTION_UNWATCH);
        l->watched = wanted;
}

void machine_step(struct life *l, const struct environment *env, const struct event *e, uint64_t now,
                  struct actions *ret)
{
        enum state before = l->disk.state;
        enum reason reason = l->disk.decision.reason;
        bool inhibited = l->inhibited;
        int code = l->disk.outcome.code;
        uint64_t wake = USEC_INFINITY;
        /* What may feed an event back while it is carried out: nothing of this step may come after it. */
        struct actions last = { .n = 0 };

        ret->n = 0;
        learn(l, e, now);
        lease_decide(l);
        lease_settle(l);
        if (derive(l) == STATE_HELD)
                wake = act_held(l, env, now, ret, &last);
        if (derive(l) == STATE_WAITING) {
                /* Watched before it is looked at: what happens in between is seen. */
                watch(l, life_has_disks(l) && !l->inhibited, ret);
                wake = act_waiting(l, env, now, &last);
        }
        l->disk.state = derive(l);
        l->disk.cancelled = l->cancelled && !l->leased && lease_wants(l);
        if (l->disk.state == STATE_TRIAL)
                wake = act_trial(l, env, now, &last);
        else
                l->trial_until = 0;
        if (l->disk.state != STATE_WAITING)
                watch(l, false, ret);
        if (wake != l->timer) {
                act(ret, ACTION_TIMER)->deadline = wake;
                l->timer = wake;
        }
        if (l->disk.state != before || l->disk.outcome.code != code ||
            (l->disk.decision.reason != reason && l->disk.state != STATE_SWITCHING) ||
            (l->inhibited != inhibited && l->disk.state == STATE_WAITING))
                (void) act(ret, ACTION_REPORT);
        for (size_t i = 0; i < last.n; i++)
                ret->list[ret->n++] = last.list[i];
}
