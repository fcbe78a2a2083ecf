/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "bench/measure/fio.h"
#include "common/child.h"
#include "common/util.h"
#include "sys/io/clock.h"

#define TICK_MSEC 200
/* After SIGINT fio writes its results. If it takes longer than this, it hangs. */
#define PATIENCE_USEC (3 * USEC_PER_SEC)
#define OUTPUT_MAX (64U << 20)
#define EXIT_NO_PROGRAM 127
#define CHARGED_BLOCK 512 /* unit of getrusage(), in bytes */

/* The descriptors that fio gets, and opens as /proc/self/fd/N. */
enum { FD_TARGET, FD_OUTPUT, FD_ERRORS, FD_JOBS }; /* the caller owns the target */
struct handover {
        int fds[FD_JOBS + FIO_JOBS_MAX];
        size_t n;
};

static void handover_done(struct handover *h)
{
        for (size_t i = FD_OUTPUT; i < h->n; i++)
                (void) close_keep_errno(h->fds[i]);
}

static int make_file(const char *name, const char *text)
{
        size_t n = strlen(text);
        int fd = memfd_create(name, MFD_CLOEXEC);

        if (fd < 0)
                return -errno;
        if (n > 0 && write(fd, text, n) != (ssize_t) n) {
                (void) close(fd);
                return -EIO;
        }
        return fd;
}

static int prepare(struct handover *h, const struct fio_call *call)
{
        *h = (struct handover){{call->target, make_file("output", ""), make_file("errors", "")}, FD_JOBS};
        for (char *const *text = call->jobs; text && *text; text++) {
                if (h->n == ELEMENTSOF(h->fds))
                        return -E2BIG;
                h->fds[h->n++] = make_file("jobs", *text);
        }
        for (size_t i = FD_OUTPUT; i < h->n; i++)
                if (h->fds[i] < 0)
                        return h->fds[i];
        return 0;
}

/* In the child. */
static void become(const char *program, char *const *arguments, const struct handover *h)
{
        /* A job file can read the environment as ${VARIABLE}. */
        static char *const environment[] = {"LC_ALL=C", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL};
        int none = open("/dev/null", O_RDWR | O_CLOEXEC);
        sigset_t empty;

        for (int i = 1; i < NSIG; i++)
                (void) signal(i, SIG_DFL);
        (void) sigemptyset(&empty);
        (void) sigprocmask(SIG_SETMASK, &empty, NULL);
        /* Ctrl+C at the terminal goes only to uasctl-bench, which then signals fio. */
        (void) setpgid(0, 0);
        if (none < 0 || dup2(none, STDIN_FILENO) < 0 || dup2(none, STDOUT_FILENO) < 0 ||
            dup2(h->fds[FD_ERRORS], STDERR_FILENO) < 0 || chdir("/") < 0)
                _exit(EXIT_FAILURE);
        for (size_t i = 0; i < h->n; i++)
                (void) fcntl(h->fds[i], F_SETFD, 0);
        (void) execve(program, arguments, environment);
        _exit(EXIT_NO_PROGRAM);
}

/* Returns its pid or -errno. The child inherits our memory, so the arguments may be in arrays of the parent. */
static pid_t start(const char *program, const struct fio_call *call, const struct handover *h)
{
        char *arguments[3 + ELEMENTSOF(call->options) + 3 * FIO_JOBS_MAX] = {"fio"}, output[48], names[FIO_JOBS_MAX][FIO_FD_MAX];
        size_t n = 1;
        pid_t pid;

        (void) snprintf(output, sizeof(output), "--output=/proc/self/fd/%i", h->fds[FD_OUTPUT]);
        arguments[n++] = output; /* first, since fio ends at --version */
        for (size_t i = 0; i < ELEMENTSOF(call->options) && call->options[i]; i++)
                arguments[n++] = (char *) call->options[i];
        for (size_t i = 0; FD_JOBS + i < h->n; i++) {
                if (call->hosts) {
                        arguments[n++] = (char *) "--client";
                        arguments[n++] = call->hosts[i];
                }
                arguments[n++] = fio_fd_path(h->fds[FD_JOBS + i], names[i]);
        }
        pid = child_fork(h->fds, h->n);
        if (pid == 0)
                become(program, arguments, h);
        return pid;
}

/* Waits until the last thread of fio is gone. Sends SIGINT if the callback returns an error, and SIGKILL if fio does not end
 * after that. Returns 0 or the error. */
static int follow(int pidfd, fio_progress_t cb, void *userdata)
{
        uint64_t stopped_at = 0;
        bool killed = false;
        int stopped = 0;

        while (poll(&(struct pollfd){pidfd, POLLIN, 0}, 1, TICK_MSEC) <= 0) {
                int r = cb ? cb(userdata) : 0;

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

char *fio_fd_path(int fd, char ret[static FIO_FD_MAX])
{
        (void) snprintf(ret, FIO_FD_MAX, "/proc/self/fd/%i", fd);
        return ret;
}

int fio_find(const char **ret)
{
        static const char *const paths[] = {"/usr/bin/fio", "/bin/fio"};

        for (size_t i = 0; i < ELEMENTSOF(paths); i++)
                if (access(paths[i], X_OK) == 0) {
                        *ret = paths[i];
                        return 0;
                }
        return -ENOENT;
}

int fio_execute(const struct fio_call *call, fio_progress_t cb, void *userdata, struct fio_result *ret)
{
        _cleanup_(fio_result_done) struct fio_result result = {};
        _cleanup_(handover_done) struct handover h;
        const char *program = call->program;
        _cleanup_close_ int pidfd = -1;
        struct rusage usage = {};
        size_t size;
        pid_t pid;
        int r = prepare(&h, call);

        if (r >= 0 && !program)
                r = fio_find(&program);
        if (r < 0)
                return r;
        pid = start(program, call, &h);
        if (pid < 0)
                return pid;
        pidfd = pidfd_open(pid, 0);
        if (pidfd < 0) {
                r = -errno;
                (void) kill(pid, SIGKILL);
        } else
                r = follow(pidfd, cb, userdata);
        while (wait4(pid, &result.status, 0, &usage) < 0 && errno == EINTR)
                ;
        if (r >= 0 && WIFEXITED(result.status) && WEXITSTATUS(result.status) == EXIT_NO_PROGRAM)
                r = -ENOENT;
        if (r >= 0)
                r = read_whole(h.fds[FD_OUTPUT], OUTPUT_MAX, &result.output, &size);
        if (r >= 0)
                r = read_whole(h.fds[FD_ERRORS], OUTPUT_MAX, &result.errors, &size);
        if (r < 0)
                return r;
        result.read_bytes = (uint64_t) usage.ru_inblock * CHARGED_BLOCK;
        result.written_bytes = (uint64_t) usage.ru_oublock * CHARGED_BLOCK;
        *ret = result;
        result = (struct fio_result){};
        return 0;
}

void fio_result_done(struct fio_result *r)
{
        free(r->output);
        free(r->errors);
        *r = (struct fio_result){};
}
