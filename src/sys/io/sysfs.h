/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sys/io/roots.h"

/* Attributes and directories by descriptor. All functions return 0 (or a count) or -errno; paths
 * are relative. */

/* Reads at most size-1 bytes and removes one trailing newline. Returns the length. */
ssize_t attr_read(int dirfd, const char *path, char *ret, size_t size);
/* The same for binary attributes: adds no NUL, removes no newline. */
ssize_t attr_read_binary(int dirfd, const char *path, void *ret, size_t size);
int attr_read_uint(int dirfd, const char *path, unsigned base, uint64_t *ret);
/* Reads the number of a device: "8:16". */
int attr_read_devno(int dirfd, const char *path, unsigned *ret_major, unsigned *ret_minor);
/* Writes the whole text with one write(2). */
int attr_write(int dirfd, const char *path, const char *text);
/* Reads the last component of a link. Returns its length, -ENOENT if there is no link. */
ssize_t link_basename(int dirfd, const char *path, char *ret, size_t size);

/*
 * Lists the names in a directory that begin with `prefix`, sorted, without dot files. Returns their
 * number, or -errno and changes nothing; strv_free() frees the list.
 */
int dir_list(int dirfd, const char *path, const char *prefix, char ***ret);
/* Calls fn for every name in the directory except dot files, sorted, until it returns non-zero. */
int dir_each(int dirfd, const char *path, int (*fn)(const char *name, void *data), void *data);

/* A directory of *.conf files or others, below a root. */
struct dropin_dir {
        int root;
        const char *path;
};

/*
 * Calls fn for every file with that suffix of these directories, in the order of the names, until
 * it returns less than 0. A name in an earlier directory hides the same name in a later one.
 * Returns 0, the result of fn, or -ENOMEM.
 */
int dropins_of(const struct dropin_dir *dirs, size_t n, const char *suffix,
               int (*fn)(int root, const char *path, void *data), void *data);

/* The same for *.conf of DIR in /etc and /usr/lib. */
int dropins_each(const struct roots *roots, const char *dir,
                 int (*fn)(int root, const char *path, void *data), void *data);
