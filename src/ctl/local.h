/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ctl/view.h"
#include "sys/roots.h"

/*
 * The disks as kernel and files show them, without the daemon: what it would come to, by the same table. The
 * state is derived (held, waiting, or where the disk rests); a request of the running boot is in its marks.
 * Returns 0 or -errno.
 */
int local_read(const struct roots *r, struct views *ret);
