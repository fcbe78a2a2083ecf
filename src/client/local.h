/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "client/view.h"
#include "sys/io/roots.h"

/*
 * The disks as kernel and files show them, without the daemon. The target is decided by the same table. The state is held, or where the
 * disk rests: without uasd it waits for nothing. Returns 0 or -errno.
 */
int local_read(const struct roots *r, struct views *ret);
/* The same without the users of the disks. */
int local_read_quick(const struct roots *r, struct views *ret);

