/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "client/view.h"
#include "sys/io/roots.h"

/*
 * The disks as kernel and files show them, without the daemon. The target is decided by the same table. The state is held, or
 * where the disk rests: without uasd it waits for nothing. users: find out who uses them, which takes a walk over all processes.
 * Returns 0 or -errno.
 */
int local_read(const struct roots *r, bool users, struct views *ret);
