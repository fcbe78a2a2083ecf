/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "client/view.h"
#include "common/exit-codes.h"
#include "core/request.h"

/* The expected result of `switch`, by the daemon's table. Pure. */
struct plan {
        enum uasd_exit code;
        struct refusal refusal;
        struct decision decision;
        char quirk[QUIRK_ENTRY_MAX]; /* the entry that the kernel would need for it, or empty */
};

/* target: DRIVER_NONE removes the override. v: from the kernel itself (client/local.h). */
void plan_switch(const struct view *v, enum driver target, bool force, struct plan *ret);
