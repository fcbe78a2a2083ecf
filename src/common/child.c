/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/child.h"

#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/util.h"

static void close_between(unsigned first, unsigned last)
{
        long limit = sysconf(_SC_OPEN_MAX);

        if (first > last || close_range(first, last, 0) >= 0)
                return;
        for (unsigned fd = first; fd <= last && fd < (unsigned) limit;
             fd++) /* kernels before 5.9 */
                (void) close((int) fd);
}

static void close_all_but(const int *keep, size_t n)
{
        unsigned first = STDERR_FILENO + 1;

        for (;;) { /* up to the lowest descriptor to keep */
                unsigned next = UINT_MAX;

                for (size_t i = 0; i < n; i++)
                        if (keep[i] >= 0 && (unsigned) keep[i] >= first &&
                            (unsigned) keep[i] < next)
                                next = (unsigned) keep[i];
                if (next == UINT_MAX)
                        break;
                close_between(first, next - 1);
                first = next + 1;
        }
        close_between(first, UINT_MAX);
}

pid_t child_fork(const int *keep, size_t n)
{
        pid_t parent = getpid(), pid = fork();

        if (pid < 0)
                return -errno;
        if (pid > 0)
                return pid;
        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) /* the parent died before prctl() */
                _exit(1);
        close_all_but(keep, n);
        return 0;
}

/* Returns 0 or an errno. */
static int spawn_prepared(const char *const *argv, int in, int out,
                          posix_spawn_file_actions_t *files, const posix_spawnattr_t *attr,
                          pid_t *ret)
{
        int r = posix_spawn_file_actions_adddup2(files, out, STDOUT_FILENO);

        if (r)
                return r;
        if (in >= 0) {
                r = posix_spawn_file_actions_adddup2(files, in, STDIN_FILENO);
                if (r)
                        return r;
        }
        r = posix_spawn_file_actions_addclosefrom_np(files, STDERR_FILENO + 1);
        if (r)
                return r;
        return posix_spawn(ret, argv[0], files, attr, (char *const *) argv, environ);
}

int child_spawn(const char *const *argv, int in, int out, bool new_signals, pid_t *ret)
{
        short flags = POSIX_SPAWN_SETPGROUP |
                      (new_signals ? POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF : 0);
        posix_spawn_file_actions_t files;
        posix_spawnattr_t attr;
        sigset_t none, all;
        int r;

        (void) sigemptyset(&none);
        (void) sigfillset(&all);
        (void) posix_spawn_file_actions_init(&files);
        (void) posix_spawnattr_init(&attr);
        (void) posix_spawnattr_setflags(&attr, flags);
        (void) posix_spawnattr_setsigmask(&attr, &none);
        (void) posix_spawnattr_setsigdefault(&attr, &all);
        r = spawn_prepared(argv, in, out, &files, &attr, ret);
        (void) posix_spawn_file_actions_destroy(&files);
        (void) posix_spawnattr_destroy(&attr);
        return -r;
}
