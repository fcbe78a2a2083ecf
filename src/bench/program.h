/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "client/client.h"
#include "common/exit-codes.h"

enum bench_verb {
        BENCH_RUN,
        BENCH_LIST,   /* also --history */
        BENCH_SHOW,   /* also --show */
        BENCH_DIFF,   /* also --diff */
        BENCH_REMOVE, /* also --remove */
        _BENCH_VERB_MAX,
};

/* The options of uasctl-bench. The strings point into the command line. */
struct bench_options {
        bool help, version;
        const char *host; /* of --host=, which is refused; NULL: not given */
        bool json, no_legend, no_pager, quiet, no_ask_password, dry_run;
        enum driver driver; /* DRIVER_NONE: compare both */
        const char *profile;
        const char *pattern; /* of the profile; NULL: all of them */
        const char *sweep;   /* "depth", "jobs=1,4" */
        const char *clients; /* "HOST,..." */
        const char *file;    /* a file, or the directory for one */
        const char *chart;
        bool write, remount, destroy_data, csv, markdown, markdown_full;
        unsigned rounds;      /* number that counts */
        unsigned runtime_sec; /* of one run; 0: as in the profile */
        uint64_t pause_usec;  /* between two runs */
        uint64_t size;        /* of the region, in bytes; 0: as in the profile */
        const char *measures; /* an option about measuring; NULL: none was given */
        enum bench_verb verb;
        const char *said; /* the verb as written, "list" or "--history", or NULL */
        bool several;     /* verbs, as options */
};

/* Returns the index of the first argument of the verb (argc: none), or -EINVAL, reported. Reorders argv. */
int bench_options_parse(int argc, char **argv, struct bench_options *ret);
/* The contradiction, as a sentence; NULL: none. n_words: number of arguments of the verb. */
#define BENCH_WRONG_MAX 128
const char *bench_options_wrong(const struct bench_options *o, unsigned n_words, char ret[static BENCH_WRONG_MAX]);

/* The context of every verb of uasctl-bench. */
struct bench_context {
        const struct bench_options *options;
        struct client client;
};

/*
 * The verbs. `words` are their arguments, with NULL at the end. They report errors and return an enum uasd_exit. A user names a
 * stored result by a path, "last", its id, or the beginning of the id or file name; for bench_remove() not by a path.
 */
int bench_measure(const struct bench_context *c, char *const *words);
int bench_history(const struct bench_context *c, char *const *words);
int bench_show(const struct bench_context *c, char *const *words);
int bench_diff(const struct bench_context *c, char *const *words);
int bench_remove(const struct bench_context *c, char *const *words);

/* The whole uasctl-bench, for program_run(). */
int bench_program(int argc, char **argv, const char *root);
