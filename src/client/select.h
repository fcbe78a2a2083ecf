/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "client/view.h"
#include "sys/io/roots.h"

/*
 * Finds the disks that match a name from the user. The name is a path (device node, link, mount
 * point), an interface or port, or a block device. It may be a by-id name, VID:PID[:SERIAL], a
 * serial number, or a part of the product's name, too. The first kind with a match counts. The
 * device chooses the last two, so they must not pass for the name of another disk.
 *
 * found: room for all of v. Returns their number. -EXDEV: it exists, but on none of them. -ENOTBLK:
 * it is neither disk nor mount point. Other -errno.
 */
int select_disks(const struct roots *roots, const struct views *v, const char *what,
                 const struct view **found);
