/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/history.h"
#include "sys/io/roots.h"

/*
 * Data that is kept over boots, one line for each key: "KEY=words". A boot reads /etc/uasd/NAME,
 * since /var may not be mounted yet. /var/lib/uasd/NAME is its copy. A number in both shows which
 * is newer, in case one was not writable.
 */
struct store {
        unsigned long long generation;
        char *text; /* of the file */
        size_t size;
};

/*
 * Lends the newer one of the two files. Returns 1, 0 if there is none, or -errno. The process keeps
 * it and reads it again when it has been replaced. *ret, never NULL, is good until the next call
 * with this name.
 */
int store_read(const struct roots *roots, const char *name, const struct store **ret);
/* Returns a number that changes whenever the lines may have changed. */
unsigned store_version(const struct roots *roots, const char *name);
/* Reads one file that store_change() has written. ret is to be freed in any case. */
int store_read_file(int dirfd, const char *path, struct store *ret);
void store_done(struct store *s);

struct store_line {
        char key[HISTORY_KEY_MAX], value[HISTORY_LINE_MAX];
};

/* Reads the next line with this key; NULL: with any. *at: 0 at first. Returns false at the end. */
bool store_next(const struct store *s, const char *key, size_t *at, struct store_line *ret);
/* Returns the text after the key in a line, or NULL. */
const char *store_value(const char *line, const char *key);

/* Lines that are to be written. */
struct store_lines {
        char **list;
        size_t n;
};

/* Adds "KEY=words". Returns 0 or -ENOMEM. */
int store_add(struct store_lines *lines, const char *key, const char *words);

struct store_change {
        const char *name;   /* of the file */
        const char *writer; /* for the first line of the file */
        void *data;
        /* Called for every line. Returns 1, 0 to remove the line, or -errno. May replace the line.
         */
        int (*change)(char **line, void *data);
        /* May be NULL. Adds or removes lines. Returns 1 if it did, 0, or -errno. */
        int (*finish)(struct store_lines *lines, void *data);
        bool room; /* empty lines keep the place for the next change, which may come on a full disk
                    */
};

/*
 * Changes the lines under the file's lock. On return the change is durable in at least one place.
 * Returns 0, or -errno without a change: -ETIMEDOUT if another process keeps the lock, -EROFS in an
 * initramfs.
 */
int store_change(const struct roots *roots, const struct store_change *c);

/* Returns which of the two files the last store_change() of this process could not write, in
 * sentences; empty: it wrote both. */
#define STORE_WARNING_MAX 512
const char *store_warning(void);
