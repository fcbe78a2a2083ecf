/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/stat.h>

/*
 * Reads what a file is, without a question to a file server and without an automount: its type,
 * mode, owner and devices. flags: AT_SYMLINK_NOFOLLOW or 0. Returns 0 or -errno; -ENOSYS: before
 * Linux 4.11 nothing can forbid the question.
 */
int file_look_locally(int dirfd, const char *path, int flags, struct stat *ret);
/* The same, but asks the file server if need be. */
int file_look(int dirfd, const char *path, int flags, struct stat *ret);
/* Returns the id that mountinfo has for the mount of a file, or -errno. */
int file_mount_id(int dirfd, const char *path);
