/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/child.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/util.h"

#define LOOK_AGAIN_MSEC 10

static void close_between(unsigned first, unsigned last)
{
        long limit = sysconf(_SC_OPEN_MAX);

        if (first > last || syscall(__NR_close_range, first, last, 0) >= 0)
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

/* Called in a child. It ends if its parent has died before prctl(). */
static void die_with(pid_t parent, int signal)
{
        (void) prctl(PR_SET_PDEATHSIG, signal);
        if (getppid() != parent)
                _exit(1);
}

pid_t child_fork(const int *keep, size_t n, int *ret_fd)
{
        pid_t parent = getpid(), pid;
        int fds[2], kept[CHILD_KEEP_MAX + 1];

        if (n > CHILD_KEEP_MAX)
                return -E2BIG;
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
                return -errno;
        pid = fork();
        if (pid < 0) {
                (void) close_keep_errno(fds[0]);
                (void) close_keep_errno(fds[1]);
                return -errno;
        }
        *ret_fd = fds[pid == 0];
        if (pid > 0) {
                (void) close(fds[1]);
                return pid;
        }
        die_with(parent, SIGKILL);
        for (size_t i = 0; i < n; i++)
                kept[i] = keep[i];
        kept[n] = fds[1];
        close_all_but(kept, n + 1);
        return 0;
}

/* A handler of this process must not run in the child, and exec keeps what is ignored. */
static void signals_reset(bool ignored)
{
        struct sigaction now;

        for (int i = 1; i < NSIG; i++)
                if (sigaction(i, NULL, &now) >= 0 && (ignored || now.sa_handler != SIG_IGN))
                        (void) signal(i, SIG_DFL);
}

/* In the child, with all signals blocked. The exec closes `status`. Returns an errno. */
static int program_exec(const struct program *p, const sigset_t *blocked, int status)
{
        int fds[ELEMENTSOF(p->fds)];

        signals_reset(p->new_signals);
        for (size_t i = 0; i < ELEMENTSOF(fds); i++) { /* one of them may be another's number */
                fds[i] = p->fds[i];
                if (fds[i] >= 0 && (fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, STDERR_FILENO + 1)) < 0)
                        return errno;
        }
        for (size_t i = 0; i < ELEMENTSOF(fds); i++)
                if (fds[i] >= 0 && dup2(fds[i], (int) i) < 0)
                        return errno;
        if (!p->foreground) {
                (void) setpgid(0, 0);
                close_all_but(&status, 1);
        }
        (void) sigprocmask(SIG_SETMASK, blocked, NULL);
        (void) (p->exec ?: execve)(p->argv[0], (char *const *) p->argv,
                                   p->env ? (char *const *) p->env : environ);
        return errno;
}

pid_t child_spawn(const struct program *p)
{
        sigset_t none, all, before;
        pid_t parent = getpid(), pid;
        int status[2], error = 0;

        if (pipe2(status, O_CLOEXEC) < 0)
                return -errno;
        (void) sigemptyset(&none);
        (void) sigfillset(&all);
        (void) sigprocmask(SIG_BLOCK, &all, &before);
        pid = fork();
        if (pid == 0) {
                if (p->death)
                        die_with(parent, p->death);
                status[1] = fcntl(status[1], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
                error = program_exec(p, p->new_signals ? &none : p->blocked ?: &before, status[1]);
                (void) !write(status[1], &error, sizeof(error));
                _exit(127);
        }
        if (pid < 0)
                error = errno;
        (void) sigprocmask(SIG_SETMASK, &before, NULL);
        (void) close(status[1]);
        if (pid > 0 && TEMP_FAILURE_RETRY(read(status[0], &error, sizeof(error))) == sizeof(error))
                (void) TEMP_FAILURE_RETRY(waitpid(pid, NULL, 0));
        (void) close(status[0]);
        return error ? -error : pid;
}

/* Waits until a child has ended, at most `msec`, and leaves it to waitpid(). Before Linux 5.3 there
 * is no pidfd: it looks again and again. */
static bool child_ended(pid_t pid, int pidfd, int msec)
{
        siginfo_t ended = {0};

        if (pidfd >= 0)
                return poll(&(struct pollfd){pidfd, POLLIN, 0}, 1, msec) > 0;
        for (;; msec -= LOOK_AGAIN_MSEC) {
                if (waitid(P_PID, (id_t) pid, &ended, WEXITED | WNOHANG | WNOWAIT) < 0 ||
                    ended.si_pid == pid)
                        return true;
                if (msec <= 0)
                        return false;
                (void) poll(NULL, 0, LOOK_AGAIN_MSEC < msec ? LOOK_AGAIN_MSEC : msec);
        }
}

int child_exit_status(pid_t pid, uint64_t limit_usec, int grace_msec)
{
        _cleanup_close_ int pidfd = (int) syscall(SYS_pidfd_open, pid, 0);
        int status;

        if (!child_ended(pid, pidfd, (int) ((limit_usec + USEC_PER_MSEC - 1) / USEC_PER_MSEC))) {
                (void) kill(pid, SIGKILL);
                (void) child_ended(pid, pidfd, grace_msec);
                (void) waitpid(pid, NULL, WNOHANG);
                return -ETIMEDOUT;
        }
        if (waitpid(pid, &status, 0) < 0)
                return -errno;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -ECANCELED;
}
