/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/learn.h"

void lease_decide(struct life *l)
{
        struct facts *f = &l->disk.facts;
        enum driver target = f->override_target;
        bool forced = f->override_forced, policy_forced = f->policy_forced;

        /*
         * A lease counts like an override, and overrules no more than that. But it is temporary: a policy that was set with
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

void lease_begin(struct life *l, bool failed)
{
        if (l->lease.active && !l->lease.over)
                return;
        l->lease.failed_before = failed;
        l->lease.active = true;
        l->lease.over = l->attempt.requested = false;
        l->lease.to = DRIVER_NONE;
}

bool lease_move(struct life *l, const struct event *e)
{
        if (!l->lease.active || l->lease.over)
                return false;
        l->lease.over = e->type == EVENT_LEASE_ENDED;
        l->lease.to = e->target;
        l->lease.forced = l->lease.over || e->force; /* the way back to the former driver needs no permission */
        return true;
}

/* Returns true if it failed on uas meanwhile, and would be moved off it again at once. */
static bool would_flee(const struct life *l)
{
        struct decision d;

        decide(&l->disk.facts, &d);
        return decision_flees(&l->disk.facts, &d);
}

bool lease_goes_back(const struct life *l)
{
        return lease_wants(l) && !(l->lease.to == DRIVER_UAS && would_flee(l));
}
