/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/disk.h"
#include "sys/io/roots.h"

/*
 * Triggers a synthetic `add` on the disks of an interface, then on their partitions. `change` is not enough for LVM: 69-lvm.rules
 * handles plain disks only on `add`. Tries all of them. Returns 0 or the first -errno.
 */
int trigger_add(const struct roots *r, const struct lun *luns, size_t n_luns);

/*
 * Triggers a synthetic `change`, only on the disks, so that udev's rule asks uasd-hold again. It does not at another `change` of
 * a disk that is not held. Returns as above.
 */
int trigger_change(const struct roots *r, const struct lun *luns, size_t n_luns);
