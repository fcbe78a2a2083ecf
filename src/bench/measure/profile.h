/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/bench.h"
#include "bench/program.h"
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
void profile_freep(struct profile **at);
/* All names, sorted, with NULL at the end; NULL: none. Free with strv_free(). */
char **profile_names(const struct roots *r);

/* A size or count in fio's format: 4k, 1M, 10G. 1 KiB is 1024 with either case of the letter. 0, -EINVAL or -ERANGE. */
int profile_size(const char *s, uint64_t *ret);

/* The options of fio that bench itself interprets. fio checks all others. */

/* The defaults of fio on Linux. */
extern const struct bench_pattern profile_default;
/* Applies one option, if bench interprets it. Returns 1 if fio does not get it, 0 if it does, or -EINVAL for an invalid value. */
int profile_pattern_apply(struct bench_pattern *p, const char *name, const char *value);
/* Derives the members that depend on several options. Returns NULL, or the contradiction. */
const char *profile_pattern_finish(struct bench_pattern *p);

/* ---- the patterns of a measurement ---- */

/*
 * Selects from a profile: its patterns, one of them, or one with a varied figure. Fills in b->patterns, b->axis and b->profile.
 * available: bytes that can be used. n_clients: number of machines, 0: only this one. Reports errors. Returns an enum uasd_exit.
 */
int patterns_make(const struct profile *p, const struct bench_options *o, uint64_t available, size_t n_clients, struct bench *b);

/* --pattern= */
bool pattern_is_asked_for(const struct bench_options *o, const struct bench_pattern *p);

/* One pattern repeated with different values of one figure, which shows how the result depends on that figure. */

#define SWEEP_VALUES_MAX 32
struct sweep {
        enum bench_axis axis;              /* BENCH_AXIS_NONE: the pattern as it is, with one value */
        uint64_t values[SWEEP_VALUES_MAX]; /* depth, jobs, bytes of the whole region, seconds, machines; rising */
        size_t n;
        bool listed; /* the user listed them */
};

/*
 * Parses "depth", "jobs=1,4", "region=256M,1G". Returns 0. -EINVAL: not such a list. -ERANGE: a value is too small or too large.
 * -EEXIST: a value occurs twice. ret_word is the wrong value within s, or NULL if another part is wrong.
 */
int sweep_parse(const char *s, struct sweep *ret, const char **ret_word);
/* Numbers of machines that take part: 1, 2, 4, 8 ... and n. Without machines (0) nothing is varied. */
struct sweep sweep_clients(size_t n);

/*
 * The points, each a pattern: "RND4K-Q32T1 depth=4". available: bytes that can be used. Larger regions are left out unless they
 * are listed. Returns their number. -EOPNOTSUPP: depth has no effect, because the engine of the pattern is synchronous. -ENOSPC:
 * not even the smallest region fits, or a listed one does not.
 */
int sweep_make(const struct bench_pattern *base, const struct sweep *s, uint64_t available,
               struct bench_pattern ret[static SWEEP_VALUES_MAX]);
