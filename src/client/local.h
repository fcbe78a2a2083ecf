/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "client/view.h"
#include "sys/io/roots.h"

/*
 * The disks from the kernel and files, without the daemon. The same table decides the target. The state is held, or the one at
 * rest, because without uasd it waits for nothing. users: also find the users, which takes a walk over all processes. Returns 0
 * or -errno.
 */
int local_read(const struct roots *r, bool users, struct views *ret);
