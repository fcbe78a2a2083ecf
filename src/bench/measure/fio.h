/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/measure/profile.h"

/* Runs fio, and reads what it says. */

struct fio_job {
        const char *program;                 /* NULL: fio_find() */
        const struct bench_pattern *pattern; /* its depth, jobs and size count, whatever the section says */
        const char *section;                 /* of a profile: all else */
        const char *path;                    /* a block device or a file that is there: opened once, here */
        uint64_t offset;                     /* the region: from here */
        uint64_t region;      /* so many bytes; 0: to the end. Jobs share it out, none reads what another one has read */
        unsigned runtime_sec; /* 0: as the section has it */
        uint64_t seed;        /* of random offsets: another one every run, or caches know them */
        bool writes;          /* false: a pattern that writes is refused, and fio is told --readonly */
};

/*
 * Called five times a second or so. Less than 0 ends fio, and is what fio_run() returns then. Until fio is gone it is still
 * called, its result ignored.
 */
typedef int (*fio_progress_t)(void *userdata);

/*
 * One run. 0: *ret is filled in but for pattern, driver, round and order; ret->error says whether fio met an error
 * on the way. Else a negative errno, *ret is untouched: -ENOENT: no fio (exit 77); -EPERM: writes, and none were asked
 * for; -ENODEV: path is neither device nor file; -ENOSPC: too small for a block a job; -EIO: fio said nothing
 * that could be read; what the callback returned.
 * ret_why (may be NULL): fio's own words if there were any, else NULL; not harmless yet; set in any case.
 */
int fio_run(const struct fio_job *job, fio_progress_t cb, void *userdata, struct bench_run *ret, char **ret_why);
/* Reads the job's region (0: the pattern's) once from end to end, so that what has to be laid out, woken up or mapped is. 0, or
 * as above. */
int fio_read_once(const struct fio_job *job, fio_progress_t cb, void *userdata, char **ret_why);

/* Fills a file that is empty with what no drive and no file system can squeeze. As fio_run(). */
int fio_lay_out(const char *path, uint64_t size, fio_progress_t cb, void *userdata, char **ret_why);

/* Its absolute path; -ENOENT. */
int fio_find(const char **ret);
/* Whether fio takes a job file. 0; -EBADMSG: ret_why has its words, if there were any; as fio_run(). */
int fio_check(const char *program, char *text, char **ret_why);
/* "fio-3.33" */
int fio_version(const char *program, char **ret);

/* Which bytes a job works on in all, of `available` ones: what fio_run() puts into ret->region. */
uint64_t fio_region(const struct bench_pattern *p, uint64_t available);

/*
 * The JSON of fio 3.1 and later, with whatever text before it: all jobs of it in one. jobs: numjobs= of the pattern, depth: its
 * iodepth=. 0, or -EBADMSG. What a run does not have of fio (pattern, driver, ..., started_usec) is 0.
 */
int fio_parse(const char *text, unsigned jobs, unsigned depth, struct bench_run *ret);
