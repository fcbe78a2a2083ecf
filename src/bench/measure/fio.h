/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/measure/profile.h"
#include "bench/spawn.h"

/* Runs fio, on this machine or on several at once, and reads its output. */

#define FIO_PROGRAM "/usr/bin/fio"
#define FIO_JOBS_MAX 64

struct fio_job {
        const char *program; /* NULL: FIO_PROGRAM */
        const struct bench_pattern *pattern;
        const char *path; /* an existing block device or file; opened once */
        uint64_t offset;  /* start of the region */
        uint64_t region;  /* bytes; 0: to the end. The jobs share it: none reads a block of another one */
        uint64_t seed;    /* of random offsets; a new one for every run, because caches know the old places */
        bool creates;     /* the file need not exist */
        bool writes;      /* false: a pattern that writes is refused, and fio gets --readonly */
        /* As from hosts_parse(). On each of them runs `fio --server`, and path is the same file there; region must be set. */
        char *const *hosts;
        size_t n_hosts;    /* number that takes part; 0: this machine */
        spawn_tick_t tick; /* NULL: none */
        /* Returns false if the opened path is not the disk that is meant. NULL: no check. */
        bool (*owns)(int node, void *userdata);
        void *userdata;
};

/*
 * One run. ret: one result, or n_hosts + 1 results: first all machines together (no host), then each. 0: they are complete except
 * for pattern, driver, round and order; ret->error is an error that fio met during the run. Otherwise a negative errno. -ENOENT:
 * no fio (exit 77). -EPERM: it writes without permission. -ENODEV: path is neither device nor file, or not owned. -ENOSPC: too
 * small for a block for each job. -EIO: fio's output is not readable. -ECONNREFUSED: a server did not answer (ret_why names it).
 * Or the result of tick().
 *
 * ret_why (may be NULL): fio's error text, or NULL. It is not escaped yet, and it is always set.
 */
int fio_run(const struct fio_job *job, struct bench_run *ret, char **ret_why);
/*
 * Prepares the job's region. Without `writes`, reads it once from end to end, so that the disk or file system allocates and maps
 * every block. A region below 1 MiB needs no preparation. With `writes`, fills an empty file with data that no drive or file
 * system can compress. For several machines the first of hosts makes the file, and removes it at the end; it has a name, since
 * each server opens it. Returns 0, or as fio_run(). fio_remove() gives up after a minute.
 */
int fio_prepare(const struct fio_job *job, char **ret_why);
int fio_remove(const char *path, char *const *hosts);

/* Starts fio with one option, and with the text of a job file, or NULL. Returns 0, -EBADMSG: fio fails, or as fio_run(). ret:
 * what fio prints, or NULL. */
int fio_ask(const char *option, char *text, char **ret);

/* Bytes that each job works on, a multiple of the block size; 0: less than a block for each job. All jobs: ret->region. */
uint64_t fio_region_each(const struct bench_pattern *p, uint64_t available);
uint64_t fio_region(const struct bench_pattern *p, uint64_t available);
/* The job file for one pattern: its section, then the options of the job, which override it. Free it. */
char *fio_job_text(const struct fio_job *job, const char *filename, uint64_t each);

/* Parses "HOST[:PORT],[IPV6]:PORT,...". ret: in fio's format, with NULL at the end, to be freed with strv_free(). Returns 0,
 * -EINVAL or -ENOMEM. */
int hosts_parse(const char *s, char ***ret);
#define FIO_PORT 8765 /* the default of `fio --server` */
/* Whether a job file for servers can name it: an absolute path without characters that fio interprets. */
bool hosts_path_ok(const char *path);

/*
 * Parses the JSON of fio 3.1 and later, with any text before it. jobs: numjobs= of the pattern, depth: its iodepth=. All its jobs
 * become one run. With n_hosts, ret has n_hosts + 1 runs: all machines together, then each. Members that fio does not print
 * (pattern, driver, ..., started_usec) are 0. Returns the number of machines, 0 without n_hosts, or -EBADMSG.
 */
int fio_parse(const char *text, size_t n_hosts, unsigned jobs, unsigned depth, struct bench_run *ret);
