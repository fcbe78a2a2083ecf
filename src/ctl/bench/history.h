/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ctl/bench/bench.h"
#include "ctl/verbs.h"
#include "sys/io/roots.h"

/* Results as JSON files in /var/lib/uasd/bench: 20261120T101500Z-ID.json. Written as a whole or not at all. */

/* 0 or a negative errno; ret_name, if not NULL, takes the file's name. */
int bench_keep(const struct roots *roots, const struct bench *b, char **ret_name);

/* What `bench` does with those: exit codes. A result is named by its id, the beginning of one, or a path. */
int bench_history(const struct ctl *c, const char *disk);
int bench_diff(const struct ctl *c, const char *a, const char *b);
int bench_show(const struct ctl *c, const char *what);
int bench_remove(const struct ctl *c, const char *what); /* never by a path */

/* In the form that was asked for, and drawn if that was. */
int bench_tell_as_asked(const struct ctl *c, const struct bench *b);

/*
 * The last result of this very disk in a clause: "4 KiB random reads at depth 32: 3.1 times faster on UAS (2026-11-20; doubted:
 * load)"; "" if there is none. What compares goes before what does not, however new. What the disk is called is not in it.
 */
#define BENCH_LAST_MAX 1024
char *bench_last(const struct roots *roots, uint16_t vid, uint16_t pid, const char *serial, char ret[static BENCH_LAST_MAX]);
