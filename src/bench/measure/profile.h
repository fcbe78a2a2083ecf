/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/bench.h"
#include "sys/io/roots.h"

/*
 * Profiles are fio job files, NAME.fio in /etc/uasd/bench or otherwise in /usr/share/uasd/bench. Every section except [global] is
 * a pattern. They define how to measure. bench decides what, so options that name files or places are ignored.
 */

#define PROFILE_NAME_MAX 64

struct profile {
        char name[PROFILE_NAME_MAX + 1];
        char *text; /* of the file, for fio's check */
        /* Their sections have a line "OPTION=VALUE" for each option that fio gets. The lines of [global] above the section come
         * first, then the section. An option without a value has "1". */
        struct bench_pattern *patterns;
        size_t n_patterns;
};

/*
 * Returns 0. -ENOENT: no such profile. -EINVAL: an invalid name. -EBADMSG: it has errors. ret_fault gets the first one, with the
 * file and the line before it. -ENOMEM, or the errno of open().
 */
#define PROFILE_FAULT_MAX 512
int profile_load(const struct roots *r, const char *name, char ret_fault[static PROFILE_FAULT_MAX], struct profile **ret);
/* The same for a text. file is only for messages. */
int profile_parse(const char *name, const char *file, const char *text, size_t size, char ret_fault[static PROFILE_FAULT_MAX],
                  struct profile **ret);
/* Removes the patterns that write. Returns their number. */
size_t profile_drop_writes(struct profile *p);
struct profile *profile_free(struct profile *p); /* NULL */
/* All names, sorted, with NULL at the end; NULL: none. Free with strv_free(). */
char **profile_names(const struct roots *r);

static inline void profile_freep(struct profile **p)
{
        (void) profile_free(*p);
}

/* A size or count in fio's format: 4k, 1M, 10G. 1 KiB is 1024 with either case of the letter. 0, -EINVAL or -ERANGE. */
int profile_size(const char *s, uint64_t *ret);

/* The options of fio that bench itself interprets. fio checks all others. */

/* The defaults of fio on Linux. */
extern const struct bench_pattern profile_default;
/* Applies one option, if bench interprets it. Returns 1 if fio does not get it, 0 if it does, or -EINVAL for an invalid value. */
int profile_pattern_apply(struct bench_pattern *p, const char *name, const char *value);
/* Derives the members that depend on several options. Returns NULL, or the contradiction. */
const char *profile_pattern_finish(struct bench_pattern *p);
