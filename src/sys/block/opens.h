/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "core/types.h"
#include "sys/io/roots.h"

/*
 * Returns the number of opens of all disks on this driver, mounts and claims among them. sd, sg and loop devices pin the driver's
 * module for each (scsi_device_get). So it is the module's reference count, less the modules that depend on it. -ENOENT: the
 * driver is built in and has no count. Or another -errno.
 */
int driver_opens(const struct roots *r, enum driver d);

/* Returns true if this interface is the only one on its driver. */
bool driver_has_one(const struct roots *r, enum driver d, const char *interface);
