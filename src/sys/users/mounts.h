/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

/* A line of a mount table or swap table. */
struct mount_line {
        const char
                *source; /* a path; NULL: a tag such as UUID=, a name such as "proc", or nothing */
        const char *target; /* NULL in a swap table */
        dev_t devno;        /* of mountinfo; else 0 */
        int id;             /* of mountinfo; else 0 */
};

enum mount_table {
        TABLE_MOUNTINFO, /* /proc/PID/mountinfo */
        TABLE_SWAPS,     /* /proc/swaps */
        TABLE_FSTAB,
};

/* Calls fn for every valid line, until it returns less than 0. Returns 0, the result of fn, or
 * -errno. */
int mount_lines(int dirfd, const char *path, enum mount_table table,
                int (*fn)(const struct mount_line *line, void *data), void *data);
