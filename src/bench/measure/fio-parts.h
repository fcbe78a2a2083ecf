/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/measure/fio.h"

/* The parts of fio_run(). */

#define FIO_JOBS_MAX 64
#define FIO_OPTIONS_MAX 4

/* The path under which fio opens a descriptor that it has from us. */
#define FIO_FD_MAX 32
char *fio_fd_path(int fd, char ret[static FIO_FD_MAX]);

/* Bytes that each job works on, a multiple of the block size; 0: less than a block for each job. */
uint64_t fio_region_each(const struct bench_pattern *p, uint64_t available);
/* The job file for one pattern: the section, then the options of the job, which override it. Free it. */
char *fio_job_text(const struct fio_job *job, const char *filename, uint64_t each);

struct fio_result {
        char *output; /* JSON, and other text that fio printed */
        char *errors;
        int status;                         /* as from waitpid() */
        uint64_t read_bytes, written_bytes; /* from and to devices, by all its processes, as the kernel counted them */
};

/* Options that fill a file. A file system reads zeros, and blocks that were never written, without the disk. */
#define FIO_LAY_OUT "ioengine=psync\nbs=1m\nrefill_buffers=1\nend_fsync=1\n"

struct fio_call {
        const char *program;                  /* NULL: fio_find() */
        const char *options[FIO_OPTIONS_MAX]; /* the first ones, up to NULL */
        char *const *jobs;                    /* texts of job files, at most FIO_JOBS_MAX, and NULL at the end; or NULL */
        char *const *clients;                 /* an option before each job; or NULL */
        int target;                           /* for fio_fd_path(); -1: none */
};

/*
 * Runs fio to its end. Returns 0 even if fio failed, or a negative result of the callback, or -ENOENT if the program does not
 * exist.
 */
int fio_execute(const struct fio_call *call, fio_progress_t cb, void *userdata, struct fio_result *ret);
void fio_result_done(struct fio_result *r);
/* fio's error texts, limited in length, without blanks at the ends; NULL: none. */
char *fio_words(const struct fio_result *r);
