/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/*
 * Forks a child that does one piece of work for its parent, without an exec. The child keeps descriptors 0 to 2 and `keep` (-1 is
 * ignored), and closes all others. Locks, sockets and pipes belong to the parent, and a child that hangs in the kernel must not
 * keep them open after the parent's death. It gets SIGKILL when the parent dies. Returns 0 in the child, the pid of the child in
 * the parent, or -errno.
 */
pid_t child_fork(const int *keep, size_t n);
