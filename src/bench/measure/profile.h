/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/bench.h"
#include "sys/io/roots.h"

/*
 * Profiles are fio job files, NAME.fio in /etc/uasd/bench or else in /usr/share/uasd/bench. Every section but [global]
 * is a pattern. They say how to measure, never what: a file that names files or devices is refused.
 */

#define PROFILE_NAME_MAX 64

struct profile {
        char name[PROFILE_NAME_MAX + 1];
        char *text; /* of the file, as fio is to check it */
        struct bench_pattern *patterns;
        /* As many, in the same order. All that fio is to be told for one pattern, a line "OPTION=VALUE" each: [global] as it
         * stood above the section, then the section. An option without a value has "1". */
        char **sections;
        size_t n_patterns;
};

/* What is wrong with a file, and in which line (0: none). */
typedef void (*profile_complain_fn)(const char *file, int line, const char *what, void *data);

/*
 * 0; -ENOENT: no such profile; -EINVAL: it is no name; -EBADMSG: it has faults, complain (may be NULL) was told of the
 * first one; -ENOMEM or what open() said.
 */
int profile_load(const struct roots *r, const char *name, profile_complain_fn complain, void *data, struct profile **ret);
/* The same of a text; file is for complaints alone. */
int profile_parse(const char *name, const char *file, const char *text, size_t size, profile_complain_fn complain, void *data,
                  struct profile **ret);
/* Patterns that write go. How many there were. */
size_t profile_drop_writes(struct profile *p);
struct profile *profile_free(struct profile *p); /* NULL */
/* Every name there is, sorted, ends with NULL; free with strv_free(). */
char **profile_names(const struct roots *r);

static inline void profile_freep(struct profile **p)
{
        (void) profile_free(*p);
}

/* A size or count as fio has it: 4k, 1M, 10G, 1 KiB being 1024 whatever the letter's case. 0, -EINVAL or -ERANGE. */
int profile_size(const char *s, uint64_t *ret);

/* The options of fio that bench itself has to understand; fio checks all others. */

/* The defaults of fio on Linux. */
extern const struct bench_pattern profile_default;
/* Applies one option. 0; -EINVAL: the value is not understood; -EPERM: a profile cannot have the option. */
int profile_pattern_apply(struct bench_pattern *p, const char *name, const char *value);
/* Derives what depends on several options. Returns NULL, or what contradicts itself. */
const char *profile_pattern_finish(struct bench_pattern *p);
