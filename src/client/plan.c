/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "client/plan.h"

#include "core/policy.h"

static enum uasd_exit judge(const struct view *v, const struct facts *f, const struct decision *d)
{
        if (!decision_wants_switch(f, d))
                return UASD_EXIT_OK;
        if (d->target == DRIVER_UAS && f->uas_kept_away) /* uasd-switch cannot load uas */
                return UASD_EXIT_FAILED;
        /* If the users are unknown, the disk does not count as free. */
        return v->disk.n_users > 0 || v->users_error < 0 ? UASD_EXIT_DEFERRED : UASD_EXIT_OK;
}

void plan_switch(const struct view *v, enum driver target, bool force, struct plan *ret)
{
        struct facts f = v->disk.facts;
        struct bridge b;

        *ret = (struct plan){};
        refuse_switch(&f, target, force, &ret->refusal);
        force = force || (target == f.override_target && f.override_forced);
        f.override_target = target;
        f.override_forced = force;
        decide(&f, &ret->decision);
        ret->code = ret->refusal.code != UASD_EXIT_OK ? ret->refusal.code : judge(v, &f, &ret->decision);
        facts_bridge(&f, &b);
        if (decision_wants_switch(&f, &ret->decision))
                (void) quirks_entry(f.quirks, &b, ret->decision.target, ret->quirk);
}
