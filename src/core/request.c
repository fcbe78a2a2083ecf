/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/request.h"

#include "common/exit-codes.h"
#include "common/util.h"

/* The exit status of a request that ends without a switch. */
static int at_rest(const struct life *l, enum driver to)
{
        if (l->cancelled)
                return UASD_EXIT_FAILED;
        if (to == DRIVER_NONE || to == l->disk.facts.driver)
                return UASD_EXIT_OK;
        return l->disk.decision.rest == STATE_INCAPABLE ? UASD_EXIT_INCAPABLE : UASD_EXIT_REFUSED;
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
        ret->code = at_rest(l, to);
        ret->step = "";
        ret->undo = ret->code == UASD_EXIT_REFUSED || ret->code == UASD_EXIT_INCAPABLE;
        (void) disk_reason(d, ret->text, sizeof(ret->text));
        return true;
}

struct event request_cancel_event(const struct life *l, bool requested, enum driver overridden, bool overridden_forced)
{
        const struct facts *f = &l->disk.facts;
        struct event cancel = {.type = EVENT_CANCEL};

        if (!requested && f->override_target != l->disk.decision.target) {
                cancel.target = f->override_target;
                cancel.force = f->override_forced;
        } else if (requested && overridden == f->driver && !(f->distrusted && f->driver == DRIVER_UAS)) {
                cancel.target = overridden;
                cancel.force = overridden_forced;
        }
        return cancel;
}
