/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

#include "client/view.h"
#include "sys/io/roots.h"

/* The disks below a file system, directly or through LUKS, LVM or md. */
struct below {
        const struct view *one; /* the only disk, managed by uasd; NULL: several links, drivers or queues */
        bool ours;              /* it contains a disk that uasd manages */
        bool known;             /* every disk was found */
        bool asked;             /* it contains the disk `interface` */
};

/* interface: a disk to look for, or NULL. */
void disks_below(const struct roots *r, const struct views *views, dev_t dev, const char *interface, struct below *ret);
