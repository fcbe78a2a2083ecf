/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/io/ask-pid1.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "common/child.h"
#include "common/log.h"
#include "common/names.h"
#include "common/util.h"

int pid1_there(const struct roots *roots)
{
        if (faccessat(roots->run, RUN_PID1_SOCKET, F_OK, 0) < 0 &&
            faccessat(roots->run, RUN_SYSTEMD_BOOTED, F_OK, 0) < 0)
                return -ENOENT;
        return 0;
}

int pid1_ask(const char *verb, const char *what, struct pid1_question *ret)
{
        const char *const argv[] = {PROGRAM_PID1, verb, what, NULL};
        int fds[2];
        pid_t pid;

        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;
        pid = child_spawn(&(struct program){.argv = argv, .fds = {-1, fds[1], -1}});
        (void) close(fds[1]);
        if (pid < 0) {
                (void) close(fds[0]);
                log_error("Cannot run %s: %s", PROGRAM_PID1, strerror(-pid));
                if (pid == -ENOENT)
                        return -ECANCELED;
                return pid;
        }
        *ret = (struct pid1_question){.pid = pid, .answer = fds[0]};
        return 0;
}

void pid1_forget(struct pid1_question *q)
{
        if (q->pid == 0)
                return;
        (void) close(q->answer);
        if (waitpid(q->pid, NULL, WNOHANG) == 0) {
                (void) kill(q->pid, SIGKILL);
                /* A child that hangs in the kernel is not waited for: init gets it. */
                (void) waitpid(q->pid, NULL, WNOHANG);
        }
        q->pid = 0;
}

/* The child writes its answer in one piece: "0\n" or "-110\n". */
static int pid1_read_answer(int fd, struct awake deadline)
{
        char text[16];
        ssize_t n;
        int r;

        do {
                usec_t left = awake_left(deadline);

                r = poll(&(struct pollfd){fd, POLLIN, 0}, 1,
                         (int) ((left + USEC_PER_MSEC - 1) / USEC_PER_MSEC));
        } while (r < 0 && errno == EINTR);
        if (r < 0)
                return -errno;
        if (r == 0)
                return -ETIMEDOUT;
        n = read(fd, text, sizeof(text) - 1);
        if (n < 0)
                return -errno;
        if (n == 0 || text[n - 1] != '\n')
                return -ECANCELED;
        text[n] = '\0';
        return (int) strtol(text, NULL, 10);
}

int pid1_answer(struct pid1_question *q, struct awake deadline)
{
        int r = pid1_read_answer(q->answer, deadline);

        pid1_forget(q);
        return r;
}

int pid1_ask_and_wait(const char *verb, const char *what, struct awake deadline)
{
        struct pid1_question q = {};
        int r = pid1_ask(verb, what, &q);

        if (r < 0)
                return r;
        return pid1_answer(&q, deadline);
}
