/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>

#include "bench/tell/verdict.h"

/* The schema of uasd-bench(7). A result that is written and read back is the same. */
#define BENCH_JSON_VERSION 1
#define BENCH_JSON_SIZE_MAX (16U << 20) /* bytes of a file that is read at all */

/* NULL: no memory. */
json_object *bench_json(const struct bench *b);
/* The members of a struct, by its table. */
json_object *bench_json_fields(const struct field *fields, const void *from);
/* Its parts, for comparisons of two results; on: as verdict_text() has it. */
json_object *bench_json_verdict(const struct bench_verdict *v, const char *on);
/* What is doubted of a pattern under a driver; _DRIVER_MAX: under any. */
json_object *bench_json_doubts(const struct bench *b, unsigned pattern, enum driver only);
json_object *bench_json_diff(const struct bench *a, const struct bench *b);

/* text ends with a NUL behind size. Whatever stands there: 0, -EBADMSG for what is no result, -EPROTONOSUPPORT for one of a later
 * version, -ENOMEM. */
int bench_json_parse(const char *text, size_t size, struct bench *ret);
/* The same of a file; -EFBIG for one that is too large. AT_FDCWD: where the user says; else no link in dirfd is followed. */
int bench_json_read(int dirfd, const char *path, struct bench *ret);
