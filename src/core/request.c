/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/request.h"

#include "common/util.h"
#include "core/disk-words.h"
#include "core/explain.h"
#include "core/policy.h"

/* ---- before it is stored ---- */

static bool target_in_force(const struct facts *f, enum driver target)
{
        struct decision d;

        decide(f, &d);
        return d.target == target;
}

/* f: with the request applied. */
static void refusal_by_table(const struct facts *f, enum driver target, bool force,
                             struct refusal *ret)
{
        struct decision d;
        bool incapable;

        decide(f, &d);
        incapable = d.rest == STATE_INCAPABLE;
        if (d.target == target || (d.target == DRIVER_NONE && f->driver == target &&
                                   !(incapable && target == DRIVER_UAS)))
                return;
        *ret = (struct refusal){
                .code = incapable || d.reason == REASON_NO_BOT ? UASD_EXIT_INCAPABLE
                                                               : UASD_EXIT_REFUSED,
                .reason = d.reason,
                .force_helps =
                        !force && (d.reason == REASON_FORCE_NEEDED || d.reason == REASON_POLICY ||
                                   d.reason == REASON_POLICY_IGNORE),
        };
}

/* Checks only the verdict of the database: a user who requests uas knows of a failure on this
 * machine. */
static bool refused_by_verdict(const struct facts *f, enum driver target, bool force)
{
        return target == DRIVER_UAS && !force && f->verdict == VERDICT_BAD && !f->verdict_by_past;
}

void refuse_switch(const struct facts *f, enum driver target, bool force, struct refusal *ret)
{
        struct facts asked = *f;

        *ret = (struct refusal){.code = UASD_EXIT_OK};
        asked.just_unbound = false; /* this ends before the final decision about the request */
        if (target == DRIVER_NONE || target_in_force(&asked, target))
                return;
        asked.override_target = target;
        asked.override_forced = force;
        refusal_by_table(&asked, target, force, ret);
        if (ret->code == UASD_EXIT_OK && refused_by_verdict(f, target, force))
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
        facts_for_good(&asked);
        already = target_in_force(&asked, DRIVER_UAS);
        asked.policy = p;
        asked.policy_forced = force;
        asked.trial_failed = false; /* a repeated request allows another trial */
        asked.trouble = NULL;
        refusal_by_table(&asked, DRIVER_UAS, force, ret);
        if (ret->code == UASD_EXIT_OK && !already && refused_by_verdict(f, DRIVER_UAS, force))
                *ret = (struct refusal){UASD_EXIT_REFUSED, REASON_VERDICT_BAD, true};
}

const char *refusal_text(const struct refusal *r)
{
        if (r->reason == REASON_POLICY || r->reason == REASON_POLICY_IGNORE)
                return "Its policy was set with force.";
        return reason_sentence(r->reason);
}

/* ---- its end ---- */

/* The exit status of a request that ends without a switch. */
static int request_code_at_rest(const struct life *l, enum driver to)
{
        if (l->cancelled)
                return UASD_EXIT_FAILED;
        if (to == DRIVER_NONE || to == l->disk.facts.driver)
                return UASD_EXIT_OK;
        if (l->disk.decision.rest == STATE_INCAPABLE)
                return UASD_EXIT_INCAPABLE;
        return UASD_EXIT_REFUSED;
}

bool request_ended(const struct life *l, enum driver to, struct request_end *ret)
{
        const struct disk *d = &l->disk;
        /* A disk that has just lost its driver is not decided yet: it may get another one. */
        bool undecided = d->decision.reason == REASON_JUST_UNBOUND && !l->cancelled;
        bool waits = undecided || d->state == STATE_WAITING || d->state == STATE_HELD;

        /* After a failure it may wait again without a request: to leave uas. */
        if (d->state == STATE_SWITCHING || (waits && !disk_went_wrong(d)))
                return false;
        ret->undo = false;
        if (d->state == STATE_FAILED || d->outcome.code == UASD_EXIT_OK || disk_went_wrong(d)) {
                ret->code = d->outcome.code;
                ret->step = d->outcome.step;
                (void) copy_string(ret->text, sizeof(ret->text), d->outcome.text);
                return true;
        }
        ret->code = request_code_at_rest(l, to);
        ret->step = "";
        ret->undo = ret->code == UASD_EXIT_REFUSED || ret->code == UASD_EXIT_INCAPABLE;
        (void) disk_reason(d, ret->text, sizeof(ret->text));
        return true;
}

struct event request_cancel_event(const struct life *l, bool requested, enum driver overridden,
                                  bool overridden_forced)
{
        const struct facts *f = &l->disk.facts;
        struct event cancel = {.type = EVENT_CANCEL};

        if (!requested && f->override_target != l->disk.decision.target) {
                cancel.target = f->override_target;
                cancel.force = f->override_forced;
        } else if (requested && overridden == f->driver &&
                   !(f->distrusted && f->driver == DRIVER_UAS)) {
                cancel.target = overridden;
                cancel.force = overridden_forced;
        }
        return cancel;
}
