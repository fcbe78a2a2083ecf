/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/state.h"

#include <assert.h>

#include "common/exit-codes.h"

/* Returns the state of a disk that stays on its driver. */
static enum state rest(const struct disk *d)
{
        /* Rolled back and then distrusted: it is on its target now, but the switch was no success. */
        if (d->outcome.code == UASD_EXIT_ROLLED_BACK && decision_flees(&d->facts, &d->decision))
                return STATE_FAILED;
        if (d->decision.rest == STATE_SETTLED && d->facts.driver == DRIVER_UAS && d->facts.trial_open)
                return STATE_TRIAL;
        return d->decision.rest;
}

enum state state_derive(const struct disk *d, const struct standing *s)
{
        assert(d->decision.rest != STATE_SWITCHING && d->decision.rest != STATE_HELD && d->decision.rest != STATE_WAITING);
        if (s->switching)
                return STATE_SWITCHING;
        if (s->held)
                return STATE_HELD;
        if (!s->wanted)
                return rest(d);
        return s->used_up ? STATE_FAILED : STATE_WAITING;
}
