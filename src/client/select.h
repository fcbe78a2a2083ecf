/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "client/view.h"
#include "sys/io/roots.h"

/*
 * The disks a user's word fits: a path (device node, link, mount point), an interface or port, a block device,
 * a by-id name, VID:PID or VID:PID:SERIAL, a serial. The first kind of name that fits counts: a serial is up to
 * the device, and must not pass for the name of another.
 * found: room for all of v. Returns how many; -EXDEV: it exists, but is on none of them; -ENOTBLK: it is
 * neither disk nor mount point; other -errno.
 */
int select_disks(const struct roots *r, const struct views *v, const char *what, const struct view **found);
