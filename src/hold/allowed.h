/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "common/util.h"
#include "sys/io/roots.h"

/*
 * The limits that the generator found for this boot. They are in the drop-in of the dead man's
 * timers, so that PID 1 and the helper use the same number. The link RUN_HOLD_ALLOWED points to
 * that file; without it the rules hold nothing.
 */
struct hold_limits {
        usec_t hold;           /* most usec that a hold may last; also the length of the timer */
        usec_t device_timeout; /* usec until PID 1 gives up a device that a boot waits for */
};

/* Time for the events after a release, through udev and PID 1 of a machine that boots. Subtracted
 * from the limits. */
#define MARGIN_USEC (3 * USEC_PER_SEC)

#define LIMITS_DROPIN "uasd-release@.timer.d/50-hold.conf" /* beside the link */

/* Writes the drop-in, then the link, into the generator's output directory. Returns 0 or -errno. */
int limits_write(int dirfd, const struct hold_limits *l);
/* Returns 0, -ENOENT if holding is not allowed, -EBADMSG, or another -errno. */
int limits_read(const struct roots *roots, struct hold_limits *ret);

/* Returns true if a unit wants uasd.service and it is not masked, according to unit files and the
 * command line. */
bool service_enabled(const struct roots *roots);

/*
 * Finds the shortest time that a boot may wait for a device. The sources are
 * x-systemd.device-timeout= of fstab and crypttab, keyfile-timeout= of crypttab, and PID 1's own
 * default from system.conf and the kernel command line. Where a hold begins, PID 1 itself is asked
 * too (ask-pid1.c). Returns 0, -EBADMSG if one of them cannot be read and the time is unknown, or
 * another -errno.
 */
int smallest_device_timeout(const struct roots *roots, usec_t *ret_usec);
