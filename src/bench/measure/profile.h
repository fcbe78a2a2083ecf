/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/bench.h"
#include "sys/io/roots.h"

/*
 * Profiles are fio job files, NAME.fio in /etc/uasd/bench or else in /usr/share/uasd/bench. Every section but [global]
 * is a pattern. They say how to measure, never what: a file that names files or devices is refused.
 */

/* An option as the file has it; one without a value has "1". */
struct profile_option {
        char *name;
        char *value;
};

/* All that fio is to be told for one pattern: [global] as it stood above the section, then the section. */
struct profile_section {
        struct profile_option *options;
        size_t n_options;
};

struct profile {
        char *name;
        char *text;        /* of the file, as fio is to check it */
        char *description; /* description= of [global]; NULL */
        struct bench_pattern *patterns;
        struct profile_section *sections; /* as many, in the same order */
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
int profile_names(const struct roots *r, char ***ret);

static inline void profile_freep(struct profile **p)
{
        (void) profile_free(*p);
}

/* A size or count as fio has it: 4k, 1M, 10G, 1 KiB being 1024 whatever the letter's case. 0, -EINVAL or -ERANGE. */
int profile_size(const char *s, uint64_t *ret);
