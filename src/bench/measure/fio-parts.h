/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/measure/fio.h"

/* The parts of fio_run(). */

/* Where a child of fio_execute() has what: where its results go, what it is to measure, one job file or more from 5 on. */
#define FIO_OUTPUT "--output=/proc/self/fd/3"
#define FIO_TARGET "/proc/self/fd/4"
#define FIO_FIRST_JOB 5
#define FIO_JOBS "/proc/self/fd/5"
#define FIO_JOBS_MAX 64

/* Bytes each job works on: a multiple of the block size; 0: not even a block a job. */
uint64_t fio_region_each(const struct bench_pattern *p, uint64_t available);
/* The job file for one pattern: the section, and over it what the job says. Free it. */
char *fio_job_text(const struct fio_job *job, const char *filename, uint64_t each);

struct fio_result {
        char *output; /* JSON, and what fio printed beside it */
        char *errors;
        int status;                         /* as waitpid() has it */
        uint64_t read_bytes, written_bytes; /* from and to devices, by all its processes, as the kernel charged them */
};

/*
 * Runs it to its end. program: NULL: fio_find(). jobs: texts of job files, at most FIO_JOBS_MAX, NULL behind them; NULL: none.
 * target: for FIO_TARGET, or negative. 0 also if fio failed; what the callback returned if that was less than 0; -ENOENT: there
 * is no such program.
 */
int fio_execute(const char *program, char *const *arguments, char *const *jobs, int target, fio_progress_t cb, void *userdata,
                struct fio_result *ret);
void fio_result_done(struct fio_result *r);
/* fio's words, blanks and endless repetition taken away; NULL: none. */
char *fio_words(const struct fio_result *r);
