/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Attributes by directory descriptor. All functions return 0 (or a count) or -errno; paths are relative. */

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

/* Calls fn for every name in the directory except dot files, sorted, until it returns non-zero. */
int dir_each(int dirfd, const char *path, int (*fn)(const char *name, void *data), void *data);
/* The same for the names that begin with `prefix`. */
int dir_each_of(int dirfd, const char *path, const char *prefix, int (*fn)(const char *name, void *data), void *data);
