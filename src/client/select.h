/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

#include "client/view.h"
#include "sys/io/roots.h"

/*
 * Finds the disks that match a name from the user. The name is a path (device node, link, mount point), an interface or port, a
 * block device, a by-id name, VID:PID[:SERIAL], or a serial number. The first kind with a match counts. The device chooses its
 * serial number, so that must not pass for the name of another disk.
 *
 * found: room for all of v. Returns their number. -EXDEV: it exists, but on none of them. -ENOTBLK: it is neither disk nor mount
 * point. Other -errno.
 */
int select_disks(const struct roots *r, const struct views *v, const char *what, const struct view **found);

/*
 * The same for the block device of a file (st_dev), through device mapper, md and so on. ret_known: false if a disk below it
 * cannot be found, for example for btrfs, ZFS and loop devices. ret_others: it is also on a disk that is not in v.
 */
int select_below(const struct roots *r, const struct views *v, dev_t dev, const struct view **found, bool *ret_known,
                 bool *ret_others);
