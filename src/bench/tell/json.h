/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>

#include "bench/tell/verdict.h"

/* The schema of uasd-bench(7). Writing and reading a result preserves it. */
#define BENCH_JSON_VERSION 1
#define BENCH_JSON_SIZE_MAX (16U << 20) /* largest file that is read, in bytes */

/* NULL: out of memory. */
json_object *bench_json(const struct bench *b);
/* A part of it, for comparisons of two results. on: as for verdict_text(). */
json_object *bench_json_verdict(const struct bench_verdict *v, const char *on);
json_object *bench_json_doubts(const struct bench *b, unsigned pattern, enum driver d);
json_object *bench_json_diff(const struct bench *a, const struct bench *b);

/* text has a NUL after `size` bytes, and may have any content. Returns 0. -EBADMSG: not a result. -EPROTONOSUPPORT: a later
 * version. -ENOMEM. */
int bench_json_parse(const char *text, size_t size, struct bench *ret);
/* The same for a file. -EFBIG: too large. dirfd is AT_FDCWD for a path of the user; otherwise no link in dirfd is followed. */
int bench_json_read(int dirfd, const char *path, struct bench *ret);

/* A struct with the members of its table (bench.h). */
json_object *fields_object(const struct field *fields, const void *from);
