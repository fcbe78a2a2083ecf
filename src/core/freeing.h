/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/disk.h"

/* The commands that end the uses of a disk. Empty: none is known. Names in them are quoted for a shell. Both return ret. */

/* stacked: a volume or an array is between the disk and this user. Devices that hold the disk are below. */
char *freeing_command(const struct user *u, bool stacked, char *ret, size_t size);
/*
 * Stops a device that stands on the disk: name as in sysfs ("dm-0", "md0"). mapping, uuid: of dm/name and dm/uuid, empty for
 * others. For LVM it stops the whole volume group.
 */
char *freeing_holder(const char *name, const char *mapping, const char *uuid, char *ret, size_t size);
