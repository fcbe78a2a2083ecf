/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "client/remote.h"
#include "client/view.h"
#include "core/request.h"
#include "sys/io/roots.h"

/* The parts of a disk that are read. */
enum detail {
        DETAIL_BRIEF,    /* with its course only the attributes in sysfs, and no sentence but
                            diagnosis;    the users only of disks that wait */
        DETAIL_NO_USERS, /* without its course there is no walk over all processes */
        DETAIL_ALL,
};

/*
 * Reads the disks from the kernel and files. courses: what uasd knows of them (remote.h), which is
 * moved: a disk that it does not know yet is left out. NULL: uasd does not answer. Then the same
 * table decides the target, and the state is held, or the one at rest, because nothing is waited
 * for. Returns 0 or -errno.
 */
int local_read(const struct roots *roots, enum detail detail, struct courses *courses,
               struct views *ret);
/* The same with the courses that uasd has now, and their users. Or an error of remote_read(). */
int local_refresh(const struct roots *roots, struct remote *remote, struct views *ret);

/* The expected result of `switch`, by the daemon's table. Pure. */
struct plan {
        enum uasd_exit code;
        struct refusal refusal;
        struct decision decision;
        char quirk[QUIRK_ENTRY_MAX]; /* the entry that the kernel would need for it, or empty */
};

/* target: DRIVER_NONE removes the override. v: from local_read(). */
void plan_switch(const struct view *v, enum driver target, bool force, struct plan *ret);
