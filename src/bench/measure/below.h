/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

#include "client/view.h"
#include "sys/io/roots.h"

/* What a file system stands on: a disk itself, or what is below LUKS, LVM or md. */
struct below {
        const struct view *one; /* one of ours alone; NULL: else no single link, driver or queue is what is measured */
        bool ours;              /* one of ours is among them */
        bool known;             /* every disk has been found, ours or not */
        bool asked;             /* the one that was asked about is among them */
};

/* interface: of the disk that is asked about; NULL: none. */
void disks_below(const struct roots *r, const struct views *views, dev_t dev, const char *interface, struct below *ret);
