/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

#include "sys/io/roots.h"

/*
 * What is kept over boots, a line a key: "KEY=words". A boot reads /etc/uasd/NAME, since /var may not be mounted yet;
 * /var/lib/uasd/NAME is its copy. A number in both tells which of them is newer, should one of the two not have been writable.
 */
struct store {
        unsigned long long generation;
        char **lines;
        size_t n;
};

/* Reads the newer one of the two files. 1; 0: there is none; -errno. ret is to be freed in any case. */
int store_read(const struct roots *r, const char *name, struct store *ret);
/* The same for one file that store_change() has written. */
int store_read_file(int dirfd, const char *path, struct store *ret);
void store_done(struct store *s);
/* What follows the key in a line, or NULL. */
const char *store_value(const char *line, const char *key);

struct store_change {
        const char *name;   /* of the file */
        const char *writer; /* for its first line */
        void *data;
        /* Every line goes through it. Returns 1; 0: the line goes; -errno. It may replace the line. */
        int (*change)(char **line, void *data);
        /* May be NULL. Adds lines, or takes some away. Returns 1: it did; 0; -errno. */
        int (*finish)(struct store *s, void *data);
};

/*
 * Changes the lines under the file's lock. What is changed is durable on return, in one place at least. 0, or -errno and nothing
 * is changed: -ETIMEDOUT if another process keeps the lock, -EROFS in an initramfs.
 */
int store_change(const struct roots *r, const struct store_change *c);
