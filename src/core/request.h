/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/machine.h"

/* When the request of a user has come to its end, and what is left of it. */

struct request_end {
        int code; /* enum uasd_exit */
        const char *step;
        char text[512];
        bool undo; /* it was accepted, and what was found since speaks against it: the override of before counts again */
};

/* to: what was asked for; DRIVER_NONE: the driver that policy wants. Returns false if the request is still under way. */
bool request_ended(const struct life *l, enum driver to, struct request_end *ret);

/*
 * EVENT_CANCEL, with the override without what waits. An override that the disk follows is no part of that: it is in force again,
 * or still. requested: a request is under way, and took the place of the override `overridden`.
 */
struct event request_cancel_event(const struct life *l, bool requested, enum driver overridden, bool overridden_forced);
