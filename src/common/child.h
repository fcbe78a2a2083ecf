/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Forks a child that does one piece of work for its parent, without an exec. The child keeps
 * descriptors 0 to 2 and `keep` (-1 is ignored), and closes all others. Locks, sockets and pipes
 * belong to the parent, and a child that hangs in the kernel must not keep them open after the
 * parent's death. It gets SIGKILL when the parent dies. Returns 0 in the child, the pid of the
 * child in the parent, or -errno.
 */
pid_t child_fork(const int *keep, size_t n);

/*
 * Starts a program in a process group of its own: Ctrl-C is not for it. `in` (-1: ours) and `out`
 * become its standard input and output. It closes its copies of all other descriptors but that for
 * errors itself. posix_spawn() returns when the exec has replaced the memory, a moment before the
 * kernel closes what has O_CLOEXEC. A node of the disk that is still open then would count as a
 * use. new_signals: no signal is blocked or ignored in it, otherwise as here. Returns 0 or -errno.
 */
int child_spawn(const char *const *argv, int in, int out, bool new_signals, pid_t *ret);
