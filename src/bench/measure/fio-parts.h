/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/measure/fio.h"

/* The parts of fio_run(). */

/* Descriptors of a child of fio_execute(): for its results, for the target, and from 5 on for one or more job files. */
#define FIO_OUTPUT "--output=/proc/self/fd/3"
#define FIO_TARGET "/proc/self/fd/4"
#define FIO_FIRST_JOB 5
#define FIO_JOBS "/proc/self/fd/5"
#define FIO_JOBS_MAX 64

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

/*
 * Runs fio to its end. program: NULL: fio_find(). jobs: texts of job files, at most FIO_JOBS_MAX, and NULL at the end. It may be
 * NULL. target: for FIO_TARGET, or negative. Returns 0 even if fio failed, or a negative result of the callback, or -ENOENT if
 * the program does not exist.
 */
int fio_execute(const char *program, char *const *arguments, char *const *jobs, int target, fio_progress_t cb, void *userdata,
                struct fio_result *ret);
void fio_result_done(struct fio_result *r);
/* fio's error texts, limited in length, without blanks at the ends; NULL: none. */
char *fio_words(const struct fio_result *r);
