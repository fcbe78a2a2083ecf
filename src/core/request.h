/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/machine.h"

/* Decides when the request of a user has ended, and with what effect. */

struct request_end {
        int code; /* enum uasd_exit */
        const char *step;
        char text[512];
        bool undo; /* it was accepted, but later facts forbid it: the former override applies again */
};

/* to: the requested driver, or DRIVER_NONE for that of the policy. Returns false if the request is still under way. */
bool request_ended(const struct life *l, enum driver to, struct request_end *ret);

/*
 * Makes EVENT_CANCEL with the remaining override. It cancels the waiting switch, but not an override that the disk already
 * follows. requested: a request is under way, and has replaced the override `overridden`.
 */
struct event request_cancel_event(const struct life *l, bool requested, enum driver overridden, bool overridden_forced);
