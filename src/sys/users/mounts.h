/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

enum mount_format {
        MOUNTS_OF_PROCESS, /* /proc/PID/mountinfo */
        MOUNTS_SWAPS,      /* /proc/swaps */
        MOUNTS_FSTAB,
};

/* A mount table or swap table that is being read, and its present line. */
struct mount_table {
        enum mount_format format;
        FILE *file;
        char *text;
        size_t room;
        /* stdio would read a file of procfs in pieces of 1 KiB. If a table changes between two of
         * them, a line may be missed. */
        char buffer[8192];

        const char
                *source; /* a path; NULL: a tag such as UUID=, a name such as "proc", or nothing */
        const char *target; /* NULL in a swap table */
        dev_t devno;        /* of mountinfo; else 0 */
        int id;             /* of mountinfo; else 0 */
        bool remote;        /* of mountinfo: a server may have to answer for a file there */
};

/* Returns 0 or -errno. The table is to be closed in any case. */
int mount_table_open(struct mount_table *t, enum mount_format format, int dirfd, const char *path);
/* Reads the next valid line. Returns 1, 0 at the end, or -errno. */
int mount_table_next(struct mount_table *t);
void mount_table_close(struct mount_table *t);
