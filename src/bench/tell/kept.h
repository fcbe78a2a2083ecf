/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/bench.h"
#include "sys/io/roots.h"

/* The files in /var/lib/uasd/bench: bench_keep() of history.h, and what reads them. */

struct kept_results {
        int dirfd;    /* -1: there is none, and no names */
        char **names; /* newest first */
        size_t n;
};

/* Nothing kept is no error. 0 or a negative errno. */
int kept_open(const struct roots *roots, struct kept_results *ret);
void kept_close(struct kept_results *k);

/* 0, or as bench_json_read(). No link is followed. */
int kept_read(const struct kept_results *k, size_t i, struct bench *ret);

/*
 * What a user calls a result: a path, "last", its id or the beginning of one or of a file's name. 0; -ENOENT; -ENOTUNIQ: more
 * than one begins so; else as bench_json_read().
 */
int kept_find(const struct kept_results *k, const char *what, struct bench *ret);
/* The same without paths and "last": 0, -ENOENT or -ENOTUNIQ. */
int kept_index(const struct kept_results *k, const char *what, size_t *ret);
/* 0 or a negative errno. */
int kept_remove(const struct kept_results *k, size_t i);

/* kept_find(), with a word on what is wrong: an exit code. */
int bench_load(const struct kept_results *k, const char *what, struct bench *ret);
