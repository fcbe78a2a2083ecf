/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum option_bit {
        /* Every verb accepts these. */
        OPTION_HELP = 1 << 0,
        OPTION_VERSION = 1 << 1,
        OPTION_NO_LEGEND = 1 << 2,
        OPTION_NO_PAGER = 1 << 3,
        OPTION_NO_ASK_PASSWORD = 1 << 4,
        OPTION_QUIET = 1 << 5,
        OPTION_HOST = 1 << 16,
        /* Some verbs accept these, and the others refuse them: a dry run must not become a real
           one. */
        OPTION_DRY_RUN = 1 << 6,
        OPTION_FORCE = 1 << 7,
        OPTION_WAIT = 1 << 8,
        OPTION_TEXTFILE = 1 << 9,
        OPTION_KERNEL = 1 << 10,
        OPTION_OUTPUT = 1 << 11,
        OPTION_TREE = 1 << 12,
        OPTION_SINCE = 1 << 13,
        OPTION_REDACT = 1 << 14,
        OPTION_HWDB = 1 << 15,
        OPTION_DISK = 1 << 17,
        OPTION_WHY = 1 << 18,
        OPTION_LIST = 1 << 19,
        OPTION_JSON = 1 << 20,
        OPTION_WRITE = 1 << 21,
        OPTION_LINES = 1 << 22,
        OPTION_FOLLOW = 1 << 23,
        OPTION_ALL = 1 << 24,
        OPTION_LOAD = 1 << 25,
};
#define OPTIONS_OF_ALL                                                                             \
        (OPTION_HELP | OPTION_VERSION | OPTION_NO_LEGEND | OPTION_NO_PAGER |                       \
         OPTION_NO_ASK_PASSWORD | OPTION_QUIET | OPTION_HOST)

struct options {
        unsigned given; /* enum option_bit */
        bool json, legend, pager;
        const char *json_form;  /* "short" or "pretty"; NULL: not given */
        const char *columns;    /* the text of --output=; NULL: not given */
        const char *wait;       /* the text of --wait=; NULL: no time was given */
        uint64_t wait_usec;     /* UINT64_MAX: no limit */
        const char *since;      /* the text of --since= */
        uint64_t since_usec;    /* since 1970; 0: everything */
        const char *lines;      /* the text of --lines= */
        size_t n_lines;         /* at most */
        const char *host;       /* of --host=; NULL: this machine */
        const char *textfile;   /* directory; NULL: stdout */
        const char *hwdb;       /* the disk; NULL: none */
        const char *disk, *why; /* of inhibit; NULL: any disk, no reason */
};

/* One row for each option. */
extern const struct ctl_option {
        enum option_bit bit;
        char letter;
        const char *name, *argument; /* as in --help; NULL: none */
        size_t at;                   /* offset of the field that gets the argument */
        const char *help;
} option_rows[];
extern const size_t n_option_rows;

/* The verb whose argument is a command. Words after the name of the command belong to it. */
#define VERB_INHIBIT "inhibit"

/* The index of the first word, which is the verb; argc: none. */
int options_first_word(int argc, char **argv);
/* Returns the index of the first argument that is not an option (argc: none), or -EINVAL, reported.
 * Reorders argv. */
int options_parse(int argc, char **argv, struct options *ret);
bool options_find(const char *name);
/* The name of one of these options; NULL: none is set. */
const char *options_name(unsigned bits);
