/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/types.h"

/* The options of `uasctl bench` alone. Strings are those of the command line. */
struct bench_options {
        const char *first;   /* "--profile": the first one that was given; NULL: none was */
        enum driver driver;  /* DRIVER_NONE: both are compared */
        const char *profile; /* NULL: the default */
        const char *pattern; /* of the profile; NULL: all of them */
        const char *sweep;   /* "depth", "jobs=1,4" */
        const char *clients; /* "HOST,..." */
        const char *file;    /* a file, or the directory for one */
        const char *chart;
        bool write, destroy_data, csv, markdown, history, diff, show, remove;
        unsigned rounds;       /* that count; 0: the default */
        uint64_t runtime_usec; /* of one run; 0: as the profile says */
        uint64_t pause_usec;   /* UINT64_MAX: the default */
        uint64_t size;         /* of the region, in bytes; 0: as the profile says */
};

#define BENCH_OPTIONS_NULL ((struct bench_options){.pause_usec = UINT64_MAX})

/* For getopt: their values begin at ARG_BENCH, and ARG_BENCH_END is the first behind them. */
enum {
        ARG_BENCH = 0x200,
        ARG_BENCH_DRIVER = ARG_BENCH,
        ARG_BENCH_PROFILE,
        ARG_BENCH_PATTERN,
        ARG_BENCH_SWEEP,
        ARG_BENCH_CLIENTS,
        ARG_BENCH_FILE,
        ARG_BENCH_WRITE,
        ARG_BENCH_DESTROY,
        ARG_BENCH_RUNTIME,
        ARG_BENCH_PAUSE,
        ARG_BENCH_SIZE,
        ARG_BENCH_CSV,
        ARG_BENCH_MARKDOWN,
        ARG_BENCH_CHART,
        ARG_BENCH_HISTORY,
        ARG_BENCH_DIFF,
        ARG_BENCH_SHOW,
        ARG_BENCH_REMOVE,
        ARG_BENCH_ROUNDS, /* -n */
        ARG_BENCH_END,
};
/* clang-format off */
#define BENCH_LONG_OPTIONS \
        {"driver", required_argument, NULL, ARG_BENCH_DRIVER}, \
        {"profile", required_argument, NULL, ARG_BENCH_PROFILE}, \
        {"pattern", required_argument, NULL, ARG_BENCH_PATTERN}, \
        {"sweep", required_argument, NULL, ARG_BENCH_SWEEP}, \
        {"clients", required_argument, NULL, ARG_BENCH_CLIENTS}, \
        {"file", required_argument, NULL, ARG_BENCH_FILE}, \
        {"write", no_argument, NULL, ARG_BENCH_WRITE}, \
        {"destroy-data", no_argument, NULL, ARG_BENCH_DESTROY}, \
        {"runtime", required_argument, NULL, ARG_BENCH_RUNTIME}, \
        {"pause", required_argument, NULL, ARG_BENCH_PAUSE}, \
        {"size", required_argument, NULL, ARG_BENCH_SIZE}, \
        {"csv", no_argument, NULL, ARG_BENCH_CSV}, \
        {"markdown", no_argument, NULL, ARG_BENCH_MARKDOWN}, \
        {"chart", required_argument, NULL, ARG_BENCH_CHART}, \
        {"history", no_argument, NULL, ARG_BENCH_HISTORY}, \
        {"diff", no_argument, NULL, ARG_BENCH_DIFF}, \
        {"show", no_argument, NULL, ARG_BENCH_SHOW}, \
        {"remove", no_argument, NULL, ARG_BENCH_REMOVE}, \
        {"rounds", required_argument, NULL, ARG_BENCH_ROUNDS}
/* clang-format on */

/* One option, as getopt gave it. 0, or -EINVAL, told. */
int bench_option(int which, const char *argument, struct bench_options *o);

/* What does not go together, as a sentence; NULL: all is well. n_words: how many arguments follow the verb. */
const char *bench_options_wrong(const struct bench_options *o, bool json, bool dry_run, unsigned n_words);
