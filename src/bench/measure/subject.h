/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/measure/session.h"
#include "client/client.h"

/*
 * The subject of a measurement. These functions check it before anything begins, report errors, and return an enum uasd_exit. The
 * pointers of the subject are valid as long as the found.
 */
struct found {
        struct remote remote;
        struct views views;
        const struct view *view; /* the disk; NULL: a file on none that uasd manages */
        unsigned lun;
        struct remount remount;
        struct subject subject;
        enum driver first, second; /* second is DRIVER_NONE without a comparison */
};

#define FOUND_NULL ((struct found){.subject = {.scratch = SCRATCH_NULL}})

void found_done(struct found *f);

/* An unused disk, for its raw node. */
int find_disk(const struct bench_context *c, const char *what, struct found *f);
/* A file on any file system. what: its disk, or NULL to find it, if uasd manages it. */
int find_file(const struct bench_context *c, const char *what, struct found *f);
/* --remount: a directory on a file system that is the only user of its disk. */
int find_mounted(const struct bench_context *c, const char *what, struct found *f);
/* --write without --size: the region of the largest pattern, limited by the free space. */
void size_scratch(const struct bench_options *o, const struct profile *profile, struct found *f);
/* --write: makes the scratch file, after all questions. */
int make_scratch(const struct bench_context *c, struct subject *s);

/*
 * --destroy-data: the user must type the disk's serial number. Without a terminal it comes from the standard input. A disk
 * without a serial number is confirmed by its interface. Returns true if it matches.
 */
bool ask_destroy(const struct view *v);
