/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "common/exit-codes.h"
#include "core/machine.h"

/* Decides whether a request is refused, before it is stored. uasd and uasctl --dry-run both use
 * this. */
struct refusal {
        enum uasd_exit
                code; /* UASD_EXIT_OK (not refused), UASD_EXIT_INCAPABLE or UASD_EXIT_REFUSED */
        enum reason reason; /* the row of the decision table that caused it */
        bool force_helps;
};

/* `uasctl switch`. target: DRIVER_NONE removes the override, which is never refused. */
void refuse_switch(const struct facts *f, enum driver target, bool force, struct refusal *ret);
/* `uasctl policy`, also for a disk without a driver, or with a third one. */
void refuse_policy(const struct facts *f, enum policy p, bool force, struct refusal *ret);

/* Returns the reason, a sentence. */
const char *refusal_text(const struct refusal *r);

/* Decides when the request of a user has ended, and with what effect. */
struct request_end {
        int code; /* enum uasd_exit */
        const char *step;
        char text[512];
        bool undo; /* it was accepted, but later facts forbid it: the former override applies again
                    */
};

/* to: the requested driver, or DRIVER_NONE for that of the policy. Returns false if the request is
 * still under way. */
bool request_ended(const struct life *l, enum driver to, struct request_end *ret);

/*
 * Makes EVENT_CANCEL with the remaining override. It cancels the waiting switch, but not an
 * override that the disk already follows. requested: a request is under way, and has replaced the
 * override `overridden`.
 */
struct event request_cancel_event(const struct life *l, bool requested, enum driver overridden,
                                  bool overridden_forced);
