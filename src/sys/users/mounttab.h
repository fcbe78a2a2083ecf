/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

/* A line of a table of mounts, or of swaps. */
struct mount_line {
        const char *source; /* a path; NULL: a tag such as UUID=, a name such as "proc", or nothing */
        const char *target; /* NULL in a table of swaps */
        dev_t devno;        /* of mountinfo; else 0 */
        int id;             /* of mountinfo; else 0 */
};

enum mount_table {
        TABLE_MOUNTINFO, /* /proc/PID/mountinfo */
        TABLE_SWAPS,     /* /proc/swaps */
        TABLE_FSTAB,
};

/* Calls fn for every line, until it returns something below 0. Lines without a meaning are left out. 0, what fn returned, or
 * -errno. */
int mount_lines(int dirfd, const char *path, enum mount_table table, int (*fn)(const struct mount_line *line, void *data),
                void *data);
