/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/bench.h"
#include "bench/context.h"
#include "sys/io/roots.h"

/* Results as JSON files in /var/lib/uasd/bench: 20261120T101500Z-ID.json. Written as a whole or not at all. */

/* 0 or a negative errno; ret_name, if not NULL, takes the file's name. */
int bench_keep(const struct roots *roots, const struct bench *b, char **ret_name);

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

/* What `bench` does with those: exit codes. A result is named by its id, the beginning of one, or a path. */
int bench_history(const struct bench_context *c, const char *disk);
int bench_diff(const struct bench_context *c, const char *a, const char *b);
int bench_show(const struct bench_context *c, const char *what);
int bench_remove(const struct bench_context *c, const char *what); /* never by a path */

/* In the form that was asked for, and drawn if that was. */
int bench_tell_as_asked(const struct bench_context *c, const struct bench *b);
