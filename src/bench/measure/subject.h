/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/measure/lease.h"
#include "bench/measure/profile.h"
#include "client/client.h"

/*
 * Makes a file to write to, empty and `size` long, in a directory of the user. It never has a name, so it disappears with its
 * last descriptor in every case. Returns the descriptor, or -errno. -ENOSPC: too little room, ret_free is the free space.
 */
int scratch_make(const char *directory, uint64_t size, uint64_t *ret_free);
/* As much of `wanted` as leaves half of the free space free, but at least `least`. */
uint64_t scratch_fitting(const char *directory, uint64_t wanted, uint64_t least);

/* The subject of a measurement: an unused disk, or a file. */
struct subject {
        struct remote remote;
        struct views views;
        const struct view *view; /* the disk; NULL: a file on none that uasd manages, or on several */
        unsigned lun;
        const char *interface;    /* of the view, or NULL */
        struct bench_lease lease; /* during the measurement of the raw disk, or of a file with `remounts` */
        char *path;               /* of the file; NULL: the raw disk */
        struct remount remount;   /* with `remounts`: the file system */
        bool remounts;            /* it is unmounted for each switch */
        int scratch;              /* the scratch file of this machine, or -1 */
        char block[BLOCK_NAME_MAX];
        enum driver driver;        /* present driver; DRIVER_NONE: not known (file) */
        enum driver first, second; /* second is DRIVER_NONE without a comparison */
        uint64_t available;        /* bytes */
        bool writes;               /* writing is permitted */
        bool lay_out;              /* the file is empty and must be written before it is read */
        char **hosts;              /* of several machines; NULL: only this one */
};

#define SUBJECT_NULL ((struct subject){.scratch = -1, .lease = LEASE_NULL})

void subject_done(struct subject *s);

/* These check the subject before anything begins, report errors, and return an enum uasd_exit. */

/* An unused disk, for its raw node. */
int find_disk(const struct bench_context *c, const char *what, struct subject *s);
/* A file on any file system. what: its disk, or NULL to find it, if uasd manages it. */
int find_file(const struct bench_context *c, const char *what, struct subject *s);
/* --remount: a directory on a file system that is the only user of its disk. */
int find_mounted(const struct bench_context *c, const char *what, struct subject *s);
/* --write without --size: the region of the largest pattern, limited by the free space. */
void size_scratch(const struct bench_options *o, const struct profile *profile, struct subject *s);
/* --write: makes the scratch file, after all questions. */
int make_scratch(const struct bench_context *c, struct subject *s);

/*
 * --destroy-data: the user must type the disk's serial number. Without a terminal it comes from the standard input. A disk
 * without a serial number is confirmed by its interface. Returns true if it matches.
 */
bool ask_destroy(const struct view *v);
