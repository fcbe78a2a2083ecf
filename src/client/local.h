/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "client/view.h"
#include "core/request.h"
#include "sys/io/roots.h"

/*
 * The disks from the kernel and files, without the daemon. The same table decides the target. The
 * state is held, or the one at rest, because without uasd it waits for nothing. users: also find
 * the users, which takes a walk over all processes. Returns 0 or -errno.
 */
int local_read(const struct roots *roots, bool users, struct views *ret);

/* The expected result of `switch`, by the daemon's table. Pure. */
struct plan {
        enum uasd_exit code;
        struct refusal refusal;
        struct decision decision;
        char quirk[QUIRK_ENTRY_MAX]; /* the entry that the kernel would need for it, or empty */
};

/* target: DRIVER_NONE removes the override. v: from local_read(). */
void plan_switch(const struct view *v, enum driver target, bool force, struct plan *ret);
