/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/capture.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>

#include "common/util.h"
#include "sys/io/clock.h"

#define OUTPUT_MAX (1u << 20)

static int read_all(int fd, uint64_t until, char **ret)
{
        /* The kernel gives it pages only as far as it is used. */
        _cleanup_free_ char *text = malloc(OUTPUT_MAX);
        size_t used = 0;

        if (!text)
                return -ENOMEM;
        for (;;) {
                struct pollfd p = {.fd = fd, .events = POLLIN};
                uint64_t now = now_monotonic();
                ssize_t n;

                if (used == OUTPUT_MAX - 1)
                        return -E2BIG;
                n = now < until ? poll(&p, 1, (int) ((until - now) / USEC_PER_MSEC) + 1) : 0;
                if (n == 0)
                        return -ETIMEDOUT;
                if (n > 0)
                        n = read(fd, text + used, OUTPUT_MAX - 1 - used);
                if (n < 0 && errno != EINTR)
                        return -errno;
                if (n == 0)
                        break;
                used += n > 0 ? (size_t) n : 0;
        }
        text[used] = '\0';
        *ret = TAKE_PTR(text);
        return 0;
}

/* The program has closed its output, so it should end. If it does not, it is killed, and left without a wait. */
static int end(pid_t pid, uint64_t until)
{
        const struct timespec pause = {.tv_nsec = 2000000};
        int status;

        for (;;) {
                pid_t k = waitpid(pid, &status, WNOHANG);

                if (k == pid)
                        return WIFEXITED(status) ? WEXITSTATUS(status) : -ECANCELED;
                if (k < 0 && errno != EINTR)
                        return -errno;
                if (now_monotonic() >= until) {
                        (void) kill(pid, SIGKILL);
                        (void) nanosleep(&pause, NULL);
                        (void) waitpid(pid, NULL, WNOHANG);
                        return -ETIMEDOUT;
                }
                (void) nanosleep(&pause, NULL);
        }
}

/* Returns its pid, or -errno. */
static pid_t spawn(const char *const argv[], int out)
{
        static const char *const env[] = {"LC_ALL=C", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL};
        posix_spawn_file_actions_t files;
        pid_t pid = 0;
        int r;

        (void) posix_spawn_file_actions_init(&files);
        r = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        if (r == 0)
                r = posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
        if (r == 0)
                r = posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
        if (r == 0)
                r = posix_spawn(&pid, argv[0], &files, NULL, (char *const *) argv, (char *const *) env);
        (void) posix_spawn_file_actions_destroy(&files);
        return r == 0 ? pid : -r;
}

int capture(const char *const argv[], uint64_t limit_usec, char **ret)
{
        uint64_t until = now_monotonic() + limit_usec;
        _cleanup_free_ char *text = NULL;
        int ends[2], r, status;
        pid_t pid;

        *ret = NULL;
        if (pipe2(ends, O_CLOEXEC) < 0)
                return -errno;
        pid = spawn(argv, ends[1]);
        (void) close(ends[1]);
        r = pid < 0 ? pid : read_all(ends[0], until, &text);
        if (pid > 0) {
                status = end(pid, r < 0 ? 0 : until);
                r = r < 0 ? r : status;
        }
        (void) close(ends[0]);
        if (r >= 0)
                *ret = TAKE_PTR(text);
        return r;
}
