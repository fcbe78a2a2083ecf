/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/bench.h"
#include "bench/context.h"
#include "sys/io/roots.h"

/* Results as JSON files in /var/lib/uasd/bench: 20261120T101500Z-ID.json. Written as a whole or not at all. */

/* 0 or a negative errno; ret_name, if not NULL, takes the file's name. */
int bench_keep(const struct roots *roots, const struct bench *b, char **ret_name);

/* What `bench` does with those: exit codes. A result is named by its id, the beginning of one, or a path. */
int bench_history(const struct bench_context *c, const char *disk);
int bench_diff(const struct bench_context *c, const char *a, const char *b);
int bench_show(const struct bench_context *c, const char *what);
int bench_remove(const struct bench_context *c, const char *what); /* never by a path */

/* In the form that was asked for, and drawn if that was. */
int bench_tell_as_asked(const struct bench_context *c, const struct bench *b);
