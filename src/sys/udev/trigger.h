/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/disk.h"
#include "sys/io/roots.h"

/*
 * Synthetic `add` on the disks of an interface, then on their partitions: `change` would leave LVM out
 * (69-lvm.rules looks at plain disks on `add` alone). Returns 0, or the first -errno, having tried them all.
 */
int trigger_add(const struct roots *r, const struct lun *luns, size_t n_luns);

/* Synthetic `change` on the disks alone: udev's rules are to be asked again. The same. */
int trigger_change(const struct roots *r, const struct lun *luns, size_t n_luns);
