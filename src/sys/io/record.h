/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/util.h"

/* A field of a struct that is kept in a small file (sys/io/statefile.h), as the line KEY=VALUE. */
struct state_field {
        const char *key;
        enum {
                VALUE_FLAG,   /* bool: 1 or 0 */
                VALUE_NUMBER, /* unsigned, of any size */
                VALUE_HEX,    /* the same, base 16 */
                VALUE_DRIVER, /* enum driver */
                VALUE_TEXT,   /* char[], escaped by make_harmless() */
        } type;
        size_t offset, size;
};
#define STATE_FIELD(key, type, of, member)                                                         \
        {                                                                                          \
                key, type, offsetof(struct of, member), sizeof(((struct of *) NULL)->member)       \
        }

struct state_type {
        const struct state_field *fields;
        size_t n;
        bool whole; /* a file without one of the fields is an error */
};

/* Changes only the fields that have a line; a number that is none is 0. Returns 1, 0 if there is no
 * file, -EBADMSG if it is not whole, or -errno. */
int state_load(int dirfd, const char *path, const struct state_type *type, void *record);
int state_store(int dirfd, const char *path, const struct state_type *type, const void *record);
