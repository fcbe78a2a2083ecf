/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

/* A line of a table of mounts, or of swaps. */
struct mount_line {
        const char *source; /* a path; NULL: a tag such as UUID=, or nothing */
        const char *target;
        dev_t devno;
        int id;
};

#define MOUNTS_FORMAT "/proc/self/mountinfo"
#define SWAPS_FORMAT "/proc/swaps"
#define FSTAB_FORMAT "/etc/fstab"

/*
 * Calls fn for every line, until it returns something below 0. format: one of the above, whatever the file is called.
 * 0, what fn returned, or -errno; -ELIBACC where there is no libmount.
 */
int mount_lines(int dirfd, const char *path, const char *format, int (*fn)(const struct mount_line *line, void *data), void *data);
