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
/* The same, but who uses a disk is looked for where its reason says so alone: where it waits. */
int local_read_quick(const struct roots *r, struct views *ret);
