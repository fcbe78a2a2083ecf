/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/disk.h"
#include "sys/io/roots.h"

/*
 * Lists the commands that free a disk, in the order in which they work: first the users, then what stands on the disk, the top
 * first. Empty for the disk of the running system. Reads only sysfs. 0 or -ENOMEM; strv_free() frees the list.
 */
int freeing_list(const struct roots *r, const struct disk *d, char ***ret, size_t *ret_n);
