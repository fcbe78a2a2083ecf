/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/measure/profile.h"

/* Runs fio, and reads its output. */

struct fio_job {
        const char *program;                 /* NULL: fio_find() */
        const struct bench_pattern *pattern; /* its depth, jobs, size and times override those of the section */
        const char *section;                 /* of a profile: all other options */
        const char *path;                    /* an existing block device or file; opened once */
        uint64_t offset;                     /* start of the region */
        uint64_t region;                     /* bytes; 0: to the end. The jobs share it: none reads a block of another one */
        uint64_t seed;                       /* of random offsets; a new one for every run, because caches know the old places */
        bool creates;                        /* the file need not exist */
        bool writes;                         /* false: a pattern that writes is refused, and fio gets --readonly */
};

/*
 * Called about five times a second. A negative result ends fio, and fio_run() returns it. Until fio has ended, fio_run() calls it
 * again and ignores the result.
 */
typedef int (*fio_progress_t)(void *userdata);

/*
 * One run. 0: *ret is complete except for pattern, driver, round and order; ret->error is an error that fio met during the run.
 * Otherwise a negative errno, and *ret is unchanged. -ENOENT: no fio (exit 77). -EPERM: it writes without permission. -ENODEV:
 * path is neither device nor file. -ENOSPC: too small for a block for each job. -EIO: fio's output is not readable. Or the result
 * of the callback.
 *
 * ret_why (may be NULL): fio's error text, or NULL. It is not escaped yet, and it is always set.
 */
int fio_run(const struct fio_job *job, fio_progress_t cb, void *userdata, struct bench_run *ret, char **ret_why);
/* Reads the job's region (0: the pattern's) once from end to end, so that the disk or file system allocates and maps every block.
 * Returns 0, or as above. */
int fio_read_once(const struct fio_job *job, fio_progress_t cb, void *userdata, char **ret_why);

/* Fills an empty file with data that no drive or file system can compress. As fio_run(). */
int fio_lay_out(const char *path, uint64_t size, fio_progress_t cb, void *userdata, char **ret_why);

/* The absolute path of fio; -ENOENT. */
int fio_find(const char **ret);
/* Whether fio accepts a job file. Returns 0, -EBADMSG (ret_why has its error text, if there is one), or as fio_run(). */
int fio_check(const char *program, char *text, char **ret_why);
/* "fio-3.33" */
int fio_version(const char *program, char **ret);

/* Number of the `available` bytes that all jobs work on: ret->region of fio_run(). */
uint64_t fio_region(const struct bench_pattern *p, uint64_t available);

/*
 * Parses the JSON of fio 3.1 and later, with any text before it. All its jobs become one run. jobs: numjobs= of the pattern,
 * depth: its iodepth=. Returns 0 or -EBADMSG. Members that fio does not print (pattern, driver, ..., started_usec) are 0.
 */
int fio_parse(const char *text, unsigned jobs, unsigned depth, struct bench_run *ret);
