/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

#include "common/util.h"
#include "sys/io/roots.h"

/*
 * What the generator found out for this boot. It stands in the drop-in of the dead man's timers, so that PID 1
 * and the helper go by the same number; the link RUN_HOLD_ALLOWED, which lets the rules hold at all, points to
 * that file.
 */
struct hold_limits {
        usec_t hold;           /* usec a hold may last, and the timer with it */
        usec_t device_timeout; /* usec until PID 1 gives up a device that a boot waits for */
};

/* Taken off them for what then travels through udev and PID 1 on a machine that boots. */
#define MARGIN_USEC (3 * USEC_PER_SEC)

#define LIMITS_DROPIN "uasd-release@.timer.d/50-hold.conf" /* beside the link */

/* Into the generator's output directory: the drop-in, then the link. Returns 0 or -errno. */
int limits_write(int dirfd, const struct hold_limits *l);
/* Returns 0; -ENOENT: holding is not allowed; -EBADMSG; other -errno. */
int limits_read(const struct roots *r, struct hold_limits *ret);
