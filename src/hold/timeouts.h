/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

#include "common/util.h"
#include "sys/io/roots.h"

/*
 * Finds the shortest time that a boot may wait for a device. The sources are x-systemd.device-timeout= of fstab and crypttab, and
 * PID 1's own default from system.conf and the kernel command line. Returns 0, -EBADMSG if one of them cannot be read and the
 * time is unknown, or another -errno.
 */
int smallest_device_timeout(const struct roots *r, usec_t *ret_usec);
