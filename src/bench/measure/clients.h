/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/measure/fio.h"

/*
 * One pattern from several machines at once: on each of them somebody has started `fio --server`, and path is the same file
 * there. fio itself goes between them.
 */

/* "HOST[:PORT],[IPV6]:PORT,...": how fio wants each, ends with NULL, free with strv_free(). 0, -EINVAL, -ENOMEM. */
int clients_parse(const char *s, char ***ret);
/* Whether a job file that servers read can name it: an absolute path without what fio has its own meaning for. */
bool clients_path_ok(const char *path);

/*
 * The first n of hosts, each with numjobs= jobs. job->path is opened by the servers, not here, and job->region has to be said.
 * ret: n + 1 runs, all together first (no host), then each; to be freed. Else as fio_run();
 * -ECONNREFUSED: a server did not answer (why says which).
 */
int clients_run(const struct fio_job *job, char *const *hosts, size_t n, fio_progress_t cb, void *userdata,
                struct bench_run **ret, char **ret_why);

/* Where `fio --server` listens if nobody says otherwise. */
#define FIO_PORT 8765

/* The JSON of fio as a client; ret has room for max runs. Their number, or -EBADMSG. */
int clients_parse_json(const char *text, unsigned jobs, unsigned depth, struct bench_run *ret, size_t max);
