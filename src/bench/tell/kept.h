/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/bench.h"
#include "bench/program.h"

/* Results as JSON files in /var/lib/uasd/bench: 20261120T101500Z-ID.json. A file is written as a whole or not at all. */

/* 0 or a negative errno. ret_name may be NULL, and gets the name of the file. */
int bench_keep(const struct roots *roots, const struct bench *b, char **ret_name);

struct kept_results {
        int dirfd;    /* -1: no directory, and no names */
        char **names; /* newest first */
        size_t n;
};

#define KEPT_NULL ((struct kept_results){.dirfd = -1})

/* No result is not an error. 0 or a negative errno; ret must be closed in either case. */
int kept_open(const struct roots *roots, struct kept_results *ret);
void kept_close(struct kept_results *k);

/* Reads the result that the user names. */
int bench_load(const struct bench_context *c, const char *what, struct bench *ret);
/* Prints in the requested format, and draws a chart if requested. */
int bench_tell_as_asked(const struct bench_context *c, const struct bench *b);
