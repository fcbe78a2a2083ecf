/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/spawn.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/wait.h>

#include "common/child.h"
#include "common/util.h"
#include "sys/io/clock.h"

#define TICK_MSEC 200
/* After SIGINT fio writes its results. If it takes longer than this, it hangs. */
#define PATIENCE_USEC (3 * USEC_PER_SEC)
#define EXIT_NO_PROGRAM 127

/* In the child. */
static void become(const struct spawn *s)
{
        sigset_t empty;

        for (int i = 1; i < NSIG; i++)
                (void) signal(i, SIG_DFL);
        (void) sigemptyset(&empty);
        (void) sigprocmask(SIG_SETMASK, &empty, NULL);
        /* Ctrl+C at the terminal goes only to uasctl-bench. */
        (void) setpgid(0, 0);
        for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
                if (dup2(s->fds[i], i) < 0)
                        _exit(EXIT_FAILURE);
        for (size_t i = STDERR_FILENO + 1; i < s->n_fds; i++)
                (void) fcntl(s->fds[i], F_SETFD, 0);
        if (chdir("/") < 0)
                _exit(EXIT_FAILURE);
        (void) execvpe(s->program, s->arguments, s->environment ?: environ);
        _exit(EXIT_NO_PROGRAM);
}

static int follow(const struct spawn *s, int pidfd)
{
        uint64_t stopped_at = 0;
        bool killed = false;
        int stopped = 0;

        while (poll(&(struct pollfd){pidfd, POLLIN, 0}, 1, TICK_MSEC) <= 0) {
                int r = s->tick ? s->tick(s->userdata) : 0;

                if (r < 0 && !stopped) {
                        stopped = r;
                        stopped_at = now_monotonic();
                        (void) pidfd_send_signal(pidfd, SIGINT, NULL, 0);
                } else if (stopped && !killed && now_monotonic() - stopped_at >= PATIENCE_USEC) {
                        killed = true;
                        (void) pidfd_send_signal(pidfd, SIGKILL, NULL, 0);
                }
        }
        return stopped;
}

int spawn(const struct spawn *s, struct rusage *ret_usage)
{
        _cleanup_close_ int pidfd = -1;
        int r, status = 0;
        pid_t pid;

        pid = child_fork(s->fds, s->n_fds);
        if (pid == 0)
                become(s);
        if (pid < 0)
                return pid;
        pidfd = pidfd_open(pid, 0);
        r = pidfd < 0 ? -errno : follow(s, pidfd);
        if (pidfd < 0)
                (void) kill(pid, SIGKILL);
        (void) TEMP_FAILURE_RETRY(wait4(pid, &status, 0, ret_usage));
        if (r < 0)
                return r;
        return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_NO_PROGRAM ? -ENOENT : status;
}

int spawn_simple(char *const *arguments, int in, int out, int errors)
{
        int r = spawn(&(struct spawn){.program = arguments[0], arguments, .fds = (int[]){in, out, errors}, .n_fds = 3}, NULL);

        return r > 0 ? -EPROTO : r;
}
