/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/capture.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <time.h>

#include "common/child.h"
#include "term/terminal.h"

#define OUTPUT_MAX (1 << 20)
#define EXIT_NO_PROGRAM 127

/* In the child. */
__attribute__((noreturn)) static void capture_exec(const char *const argv[], int out)
{
        static const char *const env[] = {"LC_ALL=C", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL};
        int null = open("/dev/null", O_RDWR);

        /* If uasctl was started without a standard input, out is that. */
        if (dup2(out, STDOUT_FILENO) >= 0 && dup2(null, STDIN_FILENO) >= 0 &&
            dup2(null, STDERR_FILENO) >= 0)
                (void) execve(argv[0], (char *const *) argv, (char *const *) env);
        _exit(EXIT_NO_PROGRAM);
}

/* Returns its exit status. At the limit it is killed, and left if it does not end at once. */
static int capture_wait(pid_t pid, uint64_t limit_usec)
{
        const struct timespec moment = {.tv_nsec = 2000000};
        _cleanup_close_ int pidfd = pidfd_open(pid, 0);
        int status;

        if (poll(&(struct pollfd){.fd = pidfd, .events = POLLIN}, 1,
                 (int) (limit_usec / USEC_PER_MSEC)) <= 0) {
                (void) kill(pid, SIGKILL);
                (void) nanosleep(&moment, NULL);
                (void) waitpid(pid, NULL, WNOHANG);
                return -ETIMEDOUT;
        }
        if (waitpid(pid, &status, 0) < 0)
                return -errno;
        if (!WIFEXITED(status))
                return -ECANCELED;
        return WEXITSTATUS(status);
}

int capture(const char *const argv[], uint64_t limit_usec, char **ret)
{
        _cleanup_close_ int out = memfd_create("output", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        _cleanup_free_ char *text = NULL;
        off_t n;
        int r;

        *ret = NULL;
        /* A program that writes more than that gets an error. */
        if (out < 0 || ftruncate(out, OUTPUT_MAX) < 0 || fcntl(out, F_ADD_SEALS, F_SEAL_GROW) < 0)
                return -errno;
        r = child_fork(&out, 1);
        if (r < 0)
                return r;
        if (r == 0)
                capture_exec(argv, out);
        r = capture_wait(r, limit_usec);
        if (r < 0)
                return r;
        n = lseek(out, 0, SEEK_CUR);        /* it has written up to here */
        if (r == EXIT_NO_PROGRAM && n == 0) /* a program may also have this exit status */
                return -ENOENT;
        if (n >= OUTPUT_MAX)
                return -E2BIG;
        text = calloc(1, (size_t) n + 1);
        if (!text)
                return -ENOMEM;
        if (pread(out, text, (size_t) n, 0) != n)
                return -EIO;
        *ret = TAKE_PTR(text);
        return r;
}
