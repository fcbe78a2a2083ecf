/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Options some verbs alone take, the others refuse: what was to be a dry run must not become a real one. */
enum option_bit {
        OPTION_DRY_RUN = 1 << 0,
        OPTION_FORCE = 1 << 1,
        OPTION_WAIT = 1 << 2,
        OPTION_TEXTFILE = 1 << 3,
        OPTION_KERNEL = 1 << 4,
        OPTION_OUTPUT = 1 << 5,
        OPTION_TREE = 1 << 6,
        OPTION_SINCE = 1 << 7,
        OPTION_REDACT = 1 << 8,
        OPTION_HWDB = 1 << 10,
        OPTION_HOST = 1 << 11,
        OPTION_DISK = 1 << 12,
        OPTION_WHY = 1 << 13,
        OPTION_LIST = 1 << 14,
        OPTION_JSON = 1 << 15,
};

struct options {
        bool help, version;
        bool json, legend, pager, quiet, ask_password, redact;
        unsigned given;         /* enum option_bit */
        const char *columns;    /* of --output=, as it was given; NULL: it was not */
        uint64_t wait_usec;     /* of --wait=; UINT64_MAX: as long as it takes */
        uint64_t since_usec;    /* of --since=, since 1970; 0: everything */
        const char *host;       /* of --host=; NULL: this machine */
        const char *textfile;   /* directory; NULL: to stdout */
        const char *hwdb;       /* the disk that was named; NULL: none */
        const char *disk, *why; /* of inhibit; NULL: any, and no reason */
};

/* The verb whose argument is a command: what stands behind that one's name is the command's own. */
#define VERB_INHIBIT "inhibit"

/* The index of the first word, which is a verb if there is one; argc: none. */
int options_first_word(int argc, char **argv);
/* Returns the index of the first argument that is no option (argc: none), or -EINVAL, told. Reorders argv. */
int options_parse(int argc, char **argv, struct options *ret);
