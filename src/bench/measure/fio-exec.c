/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "bench/measure/fio-parts.h"
#include "common/child.h"
#include "common/util.h"
#include "sys/io/clock.h"

#define TICK_MSEC 200
/* After SIGINT fio writes its results. If it takes longer than this, it hangs. */
#define PATIENCE_MSEC 3000
#define OUTPUT_MAX (64U << 20)
#define WORDS_LENGTH_MAX 2000
#define EXIT_NO_PROGRAM 127
#define CHARGED_BLOCK 512 /* unit of getrusage(), in bytes */

/* The descriptors that fio opens as /proc/self/fd/N. */
struct handover {
        int target; /* -1: none; owned by the caller */
        int output, jobs[FIO_JOBS_MAX], out, err;
        size_t n_jobs;
};

struct child {
        pid_t pid;
        int stdout_fd;
        int stopped; /* what the callback returned */
        uint64_t stopped_msec, told_msec;
        bool killed;
};

static uint64_t now_msec(void)
{
        return now_monotonic() / USEC_PER_MSEC;
}

/* ---- the child ---- */

static void handover_done(struct handover *h)
{
        for (size_t i = 0; i < h->n_jobs; i++)
                (void) close_keep_errno(h->jobs[i]);
        (void) close_keep_errno(h->output);
        (void) close_keep_errno(h->out);
        (void) close_keep_errno(h->err);
}

static void keep_open(int fd)
{
        if (fd >= 0)
                (void) fcntl(fd, F_SETFD, 0);
}

static void become(const char *program, char *const *arguments, struct handover *h)
{
        /* A job file can read the environment as ${VARIABLE}. */
        static char *const environment[] = {"LC_ALL=C", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL};
        int none = open("/dev/null", O_RDONLY | O_CLOEXEC);
        sigset_t empty;

        for (int i = 1; i < NSIG; i++)
                (void) signal(i, SIG_DFL);
        (void) sigemptyset(&empty);
        (void) sigprocmask(SIG_SETMASK, &empty, NULL);
        /* Ctrl+C at the terminal goes only to uasctl-bench, which then signals fio. */
        (void) setpgid(0, 0);
        if (none < 0 || dup2(none, STDIN_FILENO) < 0 || dup2(h->out, STDOUT_FILENO) < 0 || dup2(h->err, STDERR_FILENO) < 0 ||
            chdir("/") < 0)
                _exit(EXIT_FAILURE);
        keep_open(h->target);
        keep_open(h->output);
        for (size_t i = 0; i < h->n_jobs; i++)
                keep_open(h->jobs[i]);
        (void) execve(program, arguments, environment);
        _exit(EXIT_NO_PROGRAM);
}

/* ---- the parent ---- */

/* Sends SIGINT to fio if the callback returns an error, and SIGKILL if fio does not end after that. */
static void tick(struct child *c, fio_progress_t cb, void *userdata)
{
        uint64_t now = now_msec();
        int r;

        if (now - c->told_msec >= TICK_MSEC) {
                c->told_msec = now;
                r = cb ? cb(userdata) : 0;
                if (r < 0 && !c->stopped) {
                        c->stopped = r;
                        c->stopped_msec = now;
                        (void) kill(c->pid, SIGINT);
                }
        }
        if (c->stopped && !c->killed && now - c->stopped_msec >= PATIENCE_MSEC) {
                c->killed = true;
                (void) kill(c->pid, SIGKILL);
        }
}

/* Reads until the pipe is closed at fio's end. Then its last thread is gone. */
static void follow(struct child *c, fio_progress_t cb, void *userdata)
{
        char text[4096];

        for (;;) {
                struct pollfd p = {.fd = c->stdout_fd, .events = POLLIN};

                if (poll(&p, 1, TICK_MSEC) > 0) {
                        ssize_t n = read(c->stdout_fd, text, sizeof(text));

                        if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
                                return;
                }
                tick(c, cb, userdata);
        }
}

static int make_file(const char *name, const char *text)
{
        size_t n = text ? strlen(text) : 0;
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
        *h = (struct handover){.target = call->target, .output = -1, .out = -1, .err = make_file("errors", NULL)};
        if (h->err < 0)
                return h->err;
        h->output = make_file("output", NULL);
        if (h->output < 0)
                return h->output;
        for (; call->jobs && call->jobs[h->n_jobs]; h->n_jobs++) {
                if (h->n_jobs == FIO_JOBS_MAX)
                        return -E2BIG;
                h->jobs[h->n_jobs] = make_file("jobs", call->jobs[h->n_jobs]);
                if (h->jobs[h->n_jobs] < 0)
                        return h->jobs[h->n_jobs];
        }
        return 0;
}

/* The child inherits its memory, so the arguments may be in arrays of the parent. */
static int start(struct child *c, const char *program, const struct fio_call *call, struct handover *h)
{
        char *arguments[3 + FIO_OPTIONS_MAX + 2 * FIO_JOBS_MAX] = {"fio"}, output[48], names[FIO_JOBS_MAX][FIO_FD_MAX];
        int ends[2], keep[FIO_JOBS_MAX + 4], n = 1;

        (void) snprintf(output, sizeof(output), "--output=/proc/self/fd/%i", h->output);
        arguments[n++] = output; /* first, since fio ends at --version */
        for (size_t i = 0; i < FIO_OPTIONS_MAX && call->options[i]; i++)
                arguments[n++] = (char *) call->options[i];
        for (size_t i = 0; i < h->n_jobs; i++) {
                if (call->clients)
                        arguments[n++] = call->clients[i];
                arguments[n++] = fio_fd_path(h->jobs[i], names[i]);
        }
        if (pipe2(ends, O_CLOEXEC) < 0)
                return -errno;
        c->stdout_fd = ends[0];
        h->out = ends[1];
        memcpy(keep, (int[]){h->target, h->output, h->out, h->err}, 4 * sizeof(int));
        memcpy(keep + 4, h->jobs, h->n_jobs * sizeof(int));
        c->pid = child_fork(keep, 4 + h->n_jobs);
        if (c->pid < 0)
                return c->pid;
        if (c->pid == 0)
                become(program, arguments, h);
        h->out = close_keep_errno(h->out);
        return 0;
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
        struct rusage usage = {};
        struct child c = {.told_msec = now_msec(), .stdout_fd = -1};
        size_t size;
        int r = prepare(&h, call);

        if (r >= 0 && !program)
                r = fio_find(&program);
        if (r >= 0)
                r = start(&c, program, call, &h);
        if (r >= 0) {
                follow(&c, cb, userdata);
                while (wait4(c.pid, &result.status, 0, &usage) < 0 && errno == EINTR)
                        ;
                result.read_bytes = (uint64_t) usage.ru_inblock * CHARGED_BLOCK;
                result.written_bytes = (uint64_t) usage.ru_oublock * CHARGED_BLOCK;
                r = c.stopped;
        }
        (void) close_keep_errno(c.stdout_fd);
        if (r >= 0 && WIFEXITED(result.status) && WEXITSTATUS(result.status) == EXIT_NO_PROGRAM)
                r = -ENOENT;
        if (r >= 0)
                r = read_whole(h.output, OUTPUT_MAX, &result.output, &size);
        if (r >= 0)
                r = read_whole(h.err, OUTPUT_MAX, &result.errors, &size);
        if (r < 0)
                return r;
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

/* Depending on the version, fio prints errors to either stream. The first one is the cause. */
char *fio_words(const struct fio_result *r)
{
        const char *json = r->output && r->output[0] == '{' ? r->output : r->output ? strstr(r->output, "\n{") : NULL;
        size_t n = !r->output ? 0 : json ? (size_t) (json - r->output) : strlen(r->output);
        char *words = NULL, *end;

        if (asprintf(&words, "%.*s\n%.*s", WORDS_LENGTH_MAX, r->errors ?: "", (int) (n < WORDS_LENGTH_MAX ? n : WORDS_LENGTH_MAX),
                     r->output ?: "") < 0)
                return NULL;
        n = strspn(words, " \t\r\n");
        memmove(words, words + n, strlen(words + n) + 1);
        end = words + strlen(words);
        while (end > words && strchr(" \t\r\n", end[-1]))
                *--end = '\0';
        if (!*words) {
                free(words);
                return NULL;
        }
        return words;
}
