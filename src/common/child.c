/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/child.h"

#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/util.h"

static void close_between(unsigned first, unsigned last)
{
        long limit = sysconf(_SC_OPEN_MAX);

        if (first > last || close_range(first, last, 0) >= 0)
                return;
        for (unsigned fd = first; fd <= last && fd < (unsigned) limit; fd++) /* kernels before 5.9 */
                (void) close((int) fd);
}

static void close_all_but(const int *keep, size_t n)
{
        unsigned first = STDERR_FILENO + 1;

        for (;;) { /* up to the lowest descriptor to keep */
                unsigned next = UINT_MAX;

                for (size_t i = 0; i < n; i++)
                        if (keep[i] >= 0 && (unsigned) keep[i] >= first && (unsigned) keep[i] < next)
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

        if (pid != 0)
                return pid < 0 ? -errno : pid;
        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) /* the parent died before prctl() */
                _exit(1);
        close_all_but(keep, n);
        return 0;
}
