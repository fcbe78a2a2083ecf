/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "sys/io/clock.h"

/*
 * Small text files of KEY=VALUE lines, replaced as a whole: a reader sees either the old or the new
 * file. Only on a full disk state_write() may write over a durable file. No symlink is followed
 * from the directory `uasd` on. Mode 0644, directories 0755, independent of the umask.
 */

/* Makes the directory (0755) and its parents. Returns 0 or -errno. */
int state_mkdir(int dirfd, const char *path);
/*
 * durable: also calls fsync on file and directory, for data that must survive a power cut. If the
 * disk is full, a file of one block is written over by a text that is no longer. Otherwise the end
 * of a trial would not be recorded, and would count against the bridge.
 */
int state_write(int dirfd, const char *path, const char *text, bool durable);
/*
 * Replaces any file in the directory dir, by way of a new file `temp` beside it. The new one has
 * owner, mode, ACL and label of the open file `like`, as far as the file system has them. -1 stands
 * for mode 0644. Returns 0, or -errno and the old file.
 */
int file_replace(int dir, const char *name, const char *temp, const char *text, int like,
                 bool durable);
/* Reads all of a file, and adds a NUL. Returns 1, 0 if there is no file, or -errno. */
int state_read_text(int dirfd, const char *path, char **ret, size_t *ret_size);
/* A KEY=VALUE line in a text. */
struct assignment {
        const char *key, *value;
        size_t key_length, value_length;
};
/* Reads the one at *at or after it, with this key (NULL: any), and moves *at behind it. Comments
 * and other lines are left out. Returns false if there is none. */
bool assignment_next(const char *text, size_t size, const char *key, size_t *at,
                     struct assignment *ret);
bool assignment_is(const struct assignment *a, const char *key);
/* Calls fn for every KEY=VALUE line. Returns 1, 0 if there is no file, -errno, or the negative
 * result of fn. */
int state_read(int dirfd, const char *path,
               int (*fn)(const char *key, const char *value, void *data), void *data);
/* Returns 0 also if there was nothing to remove. */
int state_remove(int dirfd, const char *path);

/* Takes flock(LOCK_EX), and waits until `deadline`. Returns 0, -ETIMEDOUT, or another -errno. */
int lock_until(int fd, struct awake deadline);
/* The same for a file in RUN_DIR that only root can open: any user could lock a directory that he
 * may read. Returns it. */
int state_lock(int dirfd, const char *name, struct awake deadline);
