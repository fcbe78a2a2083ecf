/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/measure/fio.h"

/*
 * One pattern from several machines at once. On each of them runs `fio --server`, and path is the same file there. fio transfers
 * the jobs and results.
 */

/* Parses "HOST[:PORT],[IPV6]:PORT,...". ret: in fio's format, with NULL at the end, to be freed with strv_free(). Returns 0,
 * -EINVAL or -ENOMEM. */
int clients_parse(const char *s, char ***ret);
/* Whether a job file for servers can name it: an absolute path without characters that fio interprets. */
bool clients_path_ok(const char *path);

/*
 * Runs the first n of hosts, each with numjobs= jobs. The servers open job->path. job->region must be set. ret: n + 1 runs, first
 * all together (no host), then each; to be freed. Otherwise as fio_run(); -ECONNREFUSED: a server did not answer (ret_why names
 * it).
 */
int clients_run(const struct fio_job *job, char *const *hosts, size_t n, fio_progress_t cb, void *userdata,
                struct bench_run **ret, char **ret_why);

/*
 * A scratch file for several machines: the first of hosts writes it, as fio_lay_out() does, and removes it. It has a name, since
 * each server opens it. clients_remove() gives up after a minute.
 */
int clients_lay_out(const char *path, uint64_t size, char *const *hosts, fio_progress_t cb, void *userdata, char **ret_why);
int clients_remove(const char *path, char *const *hosts);

/* Default port of `fio --server` */
#define FIO_PORT 8765

/* Parses the JSON of fio as a client; ret has room for max runs. Returns their number, or -EBADMSG. */
int clients_parse_json(const char *text, unsigned jobs, unsigned depth, struct bench_run *ret, size_t max);
