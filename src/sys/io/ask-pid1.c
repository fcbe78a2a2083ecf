/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/io/ask-pid1.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include "common/log.h"
#include "common/names.h"
#include "common/util.h"

int pid1_there(const struct roots *r)
{
        return faccessat(r->run, RUN_PID1_SOCKET, F_OK, 0) >= 0 || faccessat(r->run, RUN_SYSTEMD_BOOTED, F_OK, 0) >= 0 ? 0
                                                                                                                       : -ENOENT;
}

/*
 * The child closes its copies of all descriptors itself. posix_spawn() returns when the exec has replaced the memory, a moment
 * before the kernel closes what has O_CLOEXEC. A node of the disk that is still open then would count as a use. The child has its
 * own process group: Ctrl-C is for uasd-switch, which finishes or undoes the switch.
 */
static int spawn(char *const argv[], int out, pid_t *ret)
{
        posix_spawn_file_actions_t files;
        posix_spawnattr_t attr;
        int r = posix_spawn_file_actions_init(&files);

        if (r != 0)
                return -r;
        (void) posix_spawnattr_init(&attr);
        (void) posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP);
        r = posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
        if (r == 0)
                r = posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
        if (r == 0)
                r = posix_spawn(ret, argv[0], &files, &attr, argv, environ);
        (void) posix_spawnattr_destroy(&attr);
        (void) posix_spawn_file_actions_destroy(&files);
        return -r;
}

int pid1_ask(const char *verb, const char *what, struct pid1_question *ret)
{
        char *argv[] = {(char *) PROGRAM_PID1, (char *) verb, (char *) what, NULL};
        int fds[2], r;
        pid_t pid = 0;

        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;
        r = spawn(argv, fds[1], &pid);
        (void) close(fds[1]);
        if (r < 0) {
                (void) close(fds[0]);
                log_error("Cannot run %s: %s", PROGRAM_PID1, strerror(-r));
                return r == -ENOENT ? -ECANCELED : r;
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
static int read_answer(int fd, struct awake deadline)
{
        char text[16];
        ssize_t n;
        int r;

        do {
                usec_t left = awake_left(deadline);

                r = poll(&(struct pollfd){fd, POLLIN, 0}, 1, (int) ((left + USEC_PER_MSEC - 1) / USEC_PER_MSEC));
        } while (r < 0 && errno == EINTR);
        if (r <= 0)
                return r < 0 ? -errno : -ETIMEDOUT;
        n = read(fd, text, sizeof(text) - 1);
        if (n <= 0 || text[n - 1] != '\n')
                return n < 0 ? -errno : -ECANCELED;
        text[n] = '\0';
        return (int) strtol(text, NULL, 10);
}

int pid1_answer(struct pid1_question *q, struct awake deadline)
{
        int r = read_answer(q->answer, deadline);

        pid1_forget(q);
        return r;
}

int pid1_ask_and_wait(const char *verb, const char *what, struct awake deadline)
{
        struct pid1_question q = {};
        int r = pid1_ask(verb, what, &q);

        return r < 0 ? r : pid1_answer(&q, deadline);
}
