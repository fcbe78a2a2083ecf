/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <sys/mman.h>

#include "bench/measure/fio.h"
#include "common/util.h"

#define OUTPUT_MAX (64U << 20)
#define CHARGED_BLOCK 512 /* unit of getrusage(), in bytes */

/* The descriptors that fio gets. It opens those after its standard ones as /proc/self/fd/N. */
enum { FD_IN, FD_OUT, FD_ERRORS, FD_OUTPUT, FD_TARGET, FD_JOBS, _FD_MAX = FD_JOBS + FIO_JOBS_MAX };

static int make_file(const char *name, const char *text)
{
        size_t n = strlen(text);
        int fd = memfd_create(name, MFD_CLOEXEC);

        if (fd >= 0 && n > 0 && write(fd, text, n) != (ssize_t) n)
                return close_keep_errno(fd);
        return fd;
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

static int execute(const struct fio_call *call, spawn_tick_t tick, void *userdata, const int fds[static _FD_MAX], size_t n_fds,
                   struct fio_result *ret)
{
        /* A job file can read the environment as ${VARIABLE}. */
        static char *const environment[] = {"LC_ALL=C", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL};
        char *arguments[3 + ELEMENTSOF(call->options) + 3 * FIO_JOBS_MAX] = {"fio"}, output[48], names[FIO_JOBS_MAX][FIO_FD_MAX];
        struct spawn s = {call->program, arguments, environment, fds, n_fds, tick, userdata};
        struct rusage usage = {};
        size_t n = 1;
        int r;

        (void) snprintf(output, sizeof(output), "--output=/proc/self/fd/%i", fds[FD_OUTPUT]);
        arguments[n++] = output; /* first, since fio ends at --version */
        for (size_t i = 0; i < ELEMENTSOF(call->options) && call->options[i]; i++)
                arguments[n++] = (char *) call->options[i];
        for (size_t i = 0; FD_JOBS + i < n_fds; i++) {
                if (call->hosts) {
                        arguments[n++] = (char *) "--client";
                        arguments[n++] = call->hosts[i];
                }
                arguments[n++] = fio_fd_path(fds[FD_JOBS + i], names[i]);
        }
        r = s.program ? 0 : fio_find(&s.program);
        if (r >= 0)
                r = ret->status = spawn(&s, &usage);
        if (r >= 0)
                r = read_whole(fds[FD_OUTPUT], OUTPUT_MAX, &ret->output, &n);
        if (r >= 0)
                r = read_whole(fds[FD_ERRORS], OUTPUT_MAX, &ret->errors, &n);
        ret->read_bytes = (uint64_t) usage.ru_inblock * CHARGED_BLOCK;
        ret->written_bytes = (uint64_t) usage.ru_oublock * CHARGED_BLOCK;
        return r;
}

int fio_execute(const struct fio_call *call, spawn_tick_t tick, void *userdata, struct fio_result *ret)
{
        int none = open("/dev/null", O_RDWR | O_CLOEXEC),
            fds[_FD_MAX] = {none, none, make_file("errors", ""), make_file("output", ""), call->target};
        bool made = none >= 0 && fds[FD_ERRORS] >= 0 && fds[FD_OUTPUT] >= 0;
        size_t n = FD_JOBS;
        int r;

        *ret = (struct fio_result){};
        for (; made && call->jobs && call->jobs[n - FD_JOBS] && n < _FD_MAX; n++) {
                fds[n] = make_file("jobs", call->jobs[n - FD_JOBS]);
                made = fds[n] >= 0;
        }
        r = made ? execute(call, tick, userdata, fds, n, ret) : -errno;
        for (size_t i = FD_OUT; i < n; i++)
                if (i != FD_TARGET) /* it belongs to the caller */
                        (void) close_keep_errno(fds[i]);
        if (r < 0)
                fio_result_done(ret);
        return r < 0 ? r : 0;
}

void fio_result_done(struct fio_result *r)
{
        free(r->output);
        free(r->errors);
        *r = (struct fio_result){};
}
