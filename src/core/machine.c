/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/machine.h"

#include "common/exit-codes.h"
#include "common/util.h"
#include "core/lease.h"

void life_init(struct life *l)
{
        *l = (struct life){ .disk.outcome.code = -1, .timer = USEC_INFINITY };
}

static struct action *act(struct actions *a, enum action_type type)
{
        struct action *last = &a->list[a->n];

        a->n++;
        *last = (struct action){ .type = type };
        return last;
}

static bool has_disks(const struct life *l)
{
        for (size_t i = 0; i < l->disk.n_luns; i++)
                if (l->disk.luns[i].disk.name[0])
                        return true;
        return false;
}

/* A try that went wrong, as opposed to one that found the disk in use. */
static bool went_wrong(const struct life *l)
{
        return disk_went_wrong(&l->disk) || (l->failed_before && !l->leased);
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
        if (flees(l))
                return l->flights > FLIGHTS_MOST;
        return went_wrong(l) || (l->tried && !l->requested);
}

/* ---- what an event changes ---- */

/* Slower and slower. */
static void retry_later(struct life *l, uint64_t now)
{
        uint64_t pause = USEC_PER_SEC << (l->retries < 6 ? l->retries : 6);

        l->retries++;
        l->retry_at = now + (pause < RETRY_MOST_USEC ? pause : RETRY_MOST_USEC);
}

static void seen_in_use(struct life *l, const struct event *e, uint64_t now)
{
        l->in_use = l->waited = true;
        l->free_since = 0;
        l->named = l->named || e->by_name;
        if (e->told) {
                l->hidden = e->by_name;
                l->retry_at = 0;
                if (e->by_name)
                        l->retries = 0;
                return;
        }
        if (!l->hidden) /* used in a way whose end nobody tells: perhaps a look by name can have it told */
                l->looked = false;
        l->hidden = true;
        if (!l->retry_at)
                retry_later(l, now);
}

static void seen_users(struct life *l, const struct event *e, uint64_t now)
{
        l->looked = true;
        if (e->in_use) {
                seen_in_use(l, e, now);
                return;
        }
        /* A claim met somebody who has no name, so that no look says that he has gone. */
        if (e->by_name && !l->named && l->retry_at)
                return;
        l->in_use = l->hidden = l->named = false;
        l->retry_at = 0;
        if (!l->free_since)
                l->free_since = now;
}

/*
 * Its hold is over and it is free to be mounted: whoever does so now must not meet our claim. It is looked at
 * again when something changes, or after a while.
 */
static void released(struct life *l, uint64_t now)
{
        l->held = l->hidden = false;
        l->looked = l->in_use = l->waited = true;
        l->free_since = 0;
        l->retry_at = now + RELEASE_PAUSE_USEC;
}

static void start_over(struct life *l)
{
        l->asked_meanwhile = l->running;
        l->requested = true;
        l->waited = false;
        l->looked = l->hidden = l->named = false;
        l->free_since = 0;
        l->retry_at = l->not_before = 0;
        l->retries = l->flights = 0;
        l->disk.outcome = (struct outcome){ .code = -1 };
}

static void ask_again(struct life *l, const struct event *e)
{
        l->disk.facts.override_target = e->target;
        l->disk.facts.override_forced = e->force;
        l->cancelled = l->failed_before = false;
        if (l->lease_over) /* the newer word */
                l->leased = l->lease_over = false;
        start_over(l);
}

static void cancel(struct life *l)
{
        l->requested = l->asked_meanwhile = false;
        /* What its holder asked for; what will be after the lease is another matter. */
        if (l->leased && !l->lease_over) {
                l->lease_to = DRIVER_NONE;
                return;
        }
        l->leased = l->lease_over = false;
        l->disk.facts.override_target = DRIVER_NONE;
        l->cancelled = true;
}

/* After a lease: back where it was, or as near as it gets. */
static void lease_settle(struct life *l)
{
        if (!l->lease_over || l->running || (!went_wrong(l) && lease_goes_back(l)))
                return;
        l->leased = l->lease_over = l->requested = l->looked = false;
        l->free_since = 0;
        lease_decide(l);
}

static void done(struct life *l, const struct event *e, uint64_t now)
{
        bool overtaken = l->asked_meanwhile && l->disk.decision.target != l->going_to;

        l->running = l->asked_meanwhile = false;
        l->going_to = DRIVER_NONE;
        if (overtaken) /* how it ended is no answer to what was asked since */
                return;
        l->disk.outcome = e->outcome;
        if (e->outcome.code == UASD_EXIT_DEFERRED) {
                /* Somebody whom a quick look does not see: the kernel may announce the end of it to nobody. */
                l->in_use = l->waited = true;
                l->hidden = has_disks(l);
                l->looked = l->named = false;
                l->free_since = 0;
                retry_later(l, now);
        } else {
                l->requested = false;
                l->retries = 0;
                l->retry_at = 0;
        }
        if (disk_went_wrong(&l->disk)) {
                l->not_before = now + (FLIGHT_PAUSE_USEC << l->flights);
                l->flights += l->flights <= FLIGHTS_MOST;
                l->looked = l->in_use = l->hidden = l->named = false;
                l->free_since = 0;
        }
}

static void trouble(struct life *l)
{
        l->cancelled = l->failed_before = false;
        l->looked = false;
        l->retry_at = l->not_before = 0;
        l->retries = l->flights = 0;
        l->disk.outcome = (struct outcome){ .code = -1 };
}

static void take_event(struct life *l, const struct event *e, uint64_t now)
{
        switch (e->type) {
        case EVENT_SCANNED:
        case EVENT_TIMER:
        case EVENT_ENVIRONMENT:
        case _EVENT_MAX:
                break;
        case EVENT_USERS:
                seen_users(l, e, now);
                break;
        case EVENT_HOLD:
                l->held = true;
                l->hold_deadline = e->deadline;
                break;
        case EVENT_RELEASED:
                released(l, now);
                break;
        case EVENT_REQUEST:
                ask_again(l, e);
                break;
        case EVENT_CANCEL:
                cancel(l);
                break;
        case EVENT_TROUBLE:
                trouble(l);
                break;
        case EVENT_INHIBITED:
                if (l->inhibited && !e->on) { /* nobody has looked meanwhile */
                        l->looked = false;
                        l->free_since = 0;
                }
                l->inhibited = e->on;
                break;
        case EVENT_LEASED:
                lease_begin(l, went_wrong(l));
                break;
        case EVENT_LEASE_SWITCH:
        case EVENT_LEASE_ENDED:
                if (lease_move(l, e))
                        start_over(l);
                break;
        case EVENT_STARTED:
                l->running = true;
                break;
        case EVENT_DONE:
                done(l, e, now);
                break;
        }
}

/* ---- what state that comes to ---- */

/* Where it stays. */
static enum state rest(const struct life *l)
{
        const struct disk *d = &l->disk;

        /* Taken back, and distrusted for it: that there is nothing to do any more does not make it a success. */
        if (d->outcome.code == UASD_EXIT_ROLLED_BACK && flees(l))
                return STATE_FAILED;
        if (d->decision.rest == STATE_SETTLED && d->facts.driver == DRIVER_UAS && d->facts.trial_open)
                return STATE_TRIAL;
        return d->decision.rest;
}

static enum state derive(const struct life *l)
{
        if (l->running)
                return STATE_SWITCHING;
        if (l->held)
                return STATE_HELD;
        if (!lease_wants(l) || (l->cancelled && !l->leased))
                return rest(l);
        return used_up(l) ? STATE_FAILED : STATE_WAITING;
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
        a->plugged = l->held || !has_disks(l);
        a->deadline = l->held ? l->hold_deadline : 0;
        l->running = true;
        l->going_to = a->target;
}

/* Returns when to be woken. */
static uint64_t act_held(struct life *l, const struct environment *env, uint64_t now, struct actions *ret,
                         struct actions *last)
{
        uint64_t start = later(now, later(l->retry_at, l->not_before));
        bool try = lease_wants(l) && (!l->cancelled || l->leased) && !used_up(l) && !l->inhibited && !env->stopping &&
                   l->hold_deadline >= start + HOLD_LEAST_USEC;

        /* It appeared under the switch's hands, or somebody looked at it: a hold has time for another try. */
        if (try && start > now)
                return start;
        if (try) {
                l->retry_at = 0;
                begin(l, last);
        } else {
                (void) act(ret, ACTION_RELEASE);
                released(l, now);
        }
        return USEC_INFINITY;
}

/* Returns when to be woken. */
static uint64_t act_waiting(struct life *l, const struct environment *env, uint64_t now, struct actions *last)
{
        uint64_t ready;

        if (env->stopping || l->inhibited)
                return USEC_INFINITY;
        /* Inside delay_use, or driverless: there is nothing yet that anybody could use. */
        if (!has_disks(l)) {
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
        if (!l->trial_until)
                l->trial_until = now + env->trial_usec;
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
        take_event(l, e, now);
        lease_decide(l);
        lease_settle(l);
        if (derive(l) == STATE_HELD)
                wake = act_held(l, env, now, ret, &last);
        if (derive(l) == STATE_WAITING) {
                /* Watched before it is looked at: what happens in between is seen. */
                watch(l, has_disks(l) && !l->inhibited, ret);
                wake = act_waiting(l, env, now, &last);
        }
        l->disk.state = derive(l);
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
