/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/measure/scratch.h"
#include "bench/measure/session.h"
#include "client/source.h"

/*
 * What is to be measured, found and looked at before anything is begun: these tell what speaks against it, and
 * return an enum uasd_exit. What the subject points to lives as long as the found.
 */
struct found {
        struct remote remote;
        struct views views;
        const struct view *view; /* the disk; NULL: a file on none of ours */
        unsigned lun;
        struct scratch scratch;
        struct subject subject;
        enum driver first, second; /* second: DRIVER_NONE: there is no comparison */
};

#define FOUND_NULL ((struct found){.scratch = SCRATCH_NULL})

void found_done(struct found *f);

/* A disk nobody uses, for the raw node. */
int find_disk(const struct bench_context *c, const char *what, struct found *f);
/* A file on whatever file system. what: the disk it is on, or NULL: found out if it is one of ours. */
int find_file(const struct bench_context *c, const char *what, struct found *f);
/* --write without --size: what the largest of the patterns works on, as far as there is room. */
void size_scratch(const struct bench_options *o, const struct profile *profile, struct found *f);
/* --write: the scratch file itself, after all questions. */
int make_scratch(const struct bench_context *c, struct found *f);

/*
 * --destroy-data: the disk's serial number has to be typed in, or to come on the standard input where that is
 * no terminal. A disk without one goes by its interface. True: so it was.
 */
bool ask_destroy(const struct view *v);
