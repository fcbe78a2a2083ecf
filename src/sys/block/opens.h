/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "core/types.h"
#include "sys/io/roots.h"

/*
 * How many opens there are of any disk on this driver, mounts and claims among them: sd pins the driver's module for
 * each (scsi_device_get), and so do sg and loop devices. From the module's reference count, less the modules that
 * depend on it. Returns the count, or -errno (-ENOENT: built in, there is no count).
 */
int driver_opens(const struct roots *r, enum driver d);

/* True if this interface is the only one on its driver. */
bool driver_has_one(const struct roots *r, enum driver d, const char *interface);
