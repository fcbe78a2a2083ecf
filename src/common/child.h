/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Forks a child that does one piece of work for its parent, without an exec. The child keeps
 * descriptors 0 to 2 and `keep` (-1 is ignored), and closes all others. Locks, sockets and pipes
 * belong to the parent, and a child that hangs in the kernel must not keep them open after the
 * parent's death. It gets SIGKILL when the parent dies. Returns 0 in the child, the pid of the
 * child in the parent, or -errno. ret_fd: in each, its end of a socket to the other.
 */
#define CHILD_KEEP_MAX 8
pid_t child_fork(const int *keep, size_t n, int *ret_fd);

/*
 * A program to start. It closes its copies of all other descriptors itself. The kernel closes what
 * has O_CLOEXEC a moment after the exec, and until then an open node of the disk would count as a
 * use.
 */
struct program {
        const char *const *argv;
        /* execvpe, which searches $PATH: only uasctl may. NULL: execve. */
        int (*exec)(const char *path, char *const *argv, char *const *env);
        const char *const *env;  /* NULL: ours */
        int fds[3];              /* its standard input, output and error; -1: ours */
        int death;               /* signal that it gets when this process dies; 0: none */
        const sigset_t *blocked; /* signals that are blocked in it; NULL: as here */
        bool new_signals;        /* no signal is blocked or ignored in it */
        bool foreground;         /* it stays in our process group, which gets Ctrl-C, and keeps the
                                    descriptors without O_CLOEXEC */
};
/* Returns its pid when the exec is done, or -errno if there is no such program. */
pid_t child_spawn(const struct program *p);

/* Waits for the end of a child, and kills it at the limit. Then it has `grace_msec` to die: one
 * that hangs in the kernel is left. Returns its exit status, -ETIMEDOUT, -ECANCELED if a signal
 * ended it, or -errno. */
int child_exit_status(pid_t pid, uint64_t limit_usec, int grace_msec);
