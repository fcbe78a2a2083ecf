/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/bench.h"
#include "bench/context.h"
#include "sys/io/roots.h"

/* Results as JSON files in /var/lib/uasd/bench: 20261120T101500Z-ID.json. A file is written as a whole or not at all. */

/* 0 or a negative errno. ret_name may be NULL, and gets the name of the file. */
int bench_keep(const struct roots *roots, const struct bench *b, char **ret_name);

struct kept_results {
        int dirfd;    /* -1: no directory, and no names */
        char **names; /* newest first */
        size_t n;
};

/* No result is not an error. 0 or a negative errno. */
int kept_open(const struct roots *roots, struct kept_results *ret);
void kept_close(struct kept_results *k);

/* 0, or as bench_json_read(). It follows no link. */
int kept_read(const struct kept_results *k, size_t i, struct bench *ret);

/*
 * A user names a result by a path, "last", its id, or the beginning of the id or file name. Returns 0. -ENOENT. -ENOTUNIQ: more
 * than one begins with it. Otherwise as bench_json_read().
 */
int kept_find(const struct kept_results *k, const char *what, struct bench *ret);
/* The same without paths and "last": 0, -ENOENT or -ENOTUNIQ. */
int kept_index(const struct kept_results *k, const char *what, size_t *ret);
/* 0 or a negative errno. */
int kept_remove(const struct kept_results *k, size_t i);

/* kept_find(), which also reports errors. Returns an exit code. */
int bench_load(const struct kept_results *k, const char *what, struct bench *ret);

/* The verbs of `bench` for stored results. They return exit codes. A result is named by its id, its beginning, or a path. */
int bench_history(const struct bench_context *c, const char *disk);
int bench_diff(const struct bench_context *c, const char *a, const char *b);
int bench_show(const struct bench_context *c, const char *what);
int bench_remove(const struct bench_context *c, const char *what); /* not by a path */

/* Prints in the requested format, and draws a chart if requested. */
int bench_tell_as_asked(const struct bench_context *c, const struct bench *b);
