/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/refusal.h"

#include "core/explain.h"
#include "core/policy.h"

static bool in_force(const struct facts *f, enum driver target)
{
        struct decision d;

        decide(f, &d);
        return d.target == target;
}

/* f: with the request applied. */
static void by_table(const struct facts *f, enum driver target, bool force, struct refusal *ret)
{
        struct decision d;
        bool incapable;

        decide(f, &d);
        incapable = d.rest == STATE_INCAPABLE;
        if (d.target == target || (d.target == DRIVER_NONE && f->driver == target && !(incapable && target == DRIVER_UAS)))
                return;
        *ret = (struct refusal){
                .code = incapable || d.reason == REASON_NO_BOT ? UASD_EXIT_INCAPABLE : UASD_EXIT_REFUSED,
                .reason = d.reason,
                .force_helps = !force &&
                               (d.reason == REASON_FORCE_NEEDED || d.reason == REASON_POLICY || d.reason == REASON_POLICY_IGNORE),
        };
}

/* Checks only the verdict of the database: a user who requests uas knows of a failure on this machine. */
static bool by_verdict(const struct facts *f, enum driver target, bool force)
{
        return target == DRIVER_UAS && !force && f->verdict == VERDICT_BAD && !f->verdict_by_past;
}

void refuse_switch(const struct facts *f, enum driver target, bool force, struct refusal *ret)
{
        struct facts asked = *f;

        *ret = (struct refusal){.code = UASD_EXIT_OK};
        asked.just_unbound = false; /* this ends before the final decision about the request */
        if (target == DRIVER_NONE || in_force(&asked, target))
                return;
        asked.override_target = target;
        asked.override_forced = force;
        by_table(&asked, target, force, ret);
        if (ret->code == UASD_EXIT_OK && by_verdict(f, target, force))
                *ret = (struct refusal){UASD_EXIT_REFUSED, REASON_VERDICT_BAD, true};
}

void refuse_policy(const struct facts *f, enum policy p, bool force, struct refusal *ret)
{
        struct facts asked = *f;
        bool already;

        *ret = (struct refusal){.code = UASD_EXIT_OK};
        if (p == POLICY_USB_STORAGE && facts_uas_alone(f))
                *ret = (struct refusal){UASD_EXIT_INCAPABLE, REASON_NO_BOT, false};
        if (p != POLICY_UAS)
                return;
        /* A policy is for every attachment, independent of the present driver. */
        asked.override_target = DRIVER_NONE;
        asked.just_unbound = false;
        asked.authorized = true;
        if (asked.driver == DRIVER_OTHER)
                asked.driver = DRIVER_NONE;
        already = in_force(&asked, DRIVER_UAS);
        asked.policy = p;
        asked.policy_forced = force;
        asked.trial_failed = false; /* a repeated request allows another trial */
        by_table(&asked, DRIVER_UAS, force, ret);
        if (ret->code == UASD_EXIT_OK && !already && by_verdict(f, DRIVER_UAS, force))
                *ret = (struct refusal){UASD_EXIT_REFUSED, REASON_VERDICT_BAD, true};
}

const char *refusal_text(const struct refusal *r)
{
        bool by_policy = r->reason == REASON_POLICY || r->reason == REASON_POLICY_IGNORE;

        return by_policy ? "Its policy was set with force." : reason_sentence(r->reason);
}
