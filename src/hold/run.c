/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/names.h"
#include "common/util.h"
#include "hold/early.h"
#include "sys/io/clock.h"
#include "sys/state/attachment.h"

/* At its deadline uasd-switch brings the disk back. This is the time for that. */
#define GRACE (3 * USEC_PER_SEC)
#define MODPROBE_BUDGET (10 * USEC_PER_SEC)
#define PROGRAM_MODPROBE "/sbin/modprobe"

static void run_exec(char *const argv[], const sigset_t *mask)
{
        int fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);

        /* udev reads properties from our own stdout. The kernel's log gets into the journal. */
        if (fd < 0)
                fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
        (void) dup2(fd, STDOUT_FILENO);
        (void) dup2(fd, STDERR_FILENO);
        (void) sigprocmask(SIG_SETMASK, mask, NULL);
        (void) execv(argv[0], argv);
        _exit(127);
}

/* A child that hangs in the kernel is not waited for: it ends as soon as it wakes up. */
static int run_program(char *const argv[], usec_t end)
{
        sigset_t sigchld, before;
        int status = 0;
        pid_t pid;

        (void) sigemptyset(&sigchld);
        (void) sigaddset(&sigchld, SIGCHLD);
        (void) sigprocmask(SIG_BLOCK, &sigchld, &before);
        pid = fork();
        if (pid < 0)
                return -errno;
        if (pid == 0)
                run_exec(argv, &before);
        for (;;) {
                usec_t now = now_boottime();
                struct timespec left;

                if (waitpid(pid, &status, WNOHANG) == pid)
                        return WIFEXITED(status) ? WEXITSTATUS(status) : RUN_KILLED;
                if (now >= end)
                        break;
                left = (struct timespec){.tv_sec = (time_t) ((end - now) / USEC_PER_SEC),
                                         .tv_nsec = (long) ((end - now) % USEC_PER_SEC * 1000)};
                (void) sigtimedwait(&sigchld, NULL, &left);
        }
        (void) kill(pid, SIGKILL);
        (void) sigtimedwait(&sigchld, NULL, &(struct timespec){.tv_sec = 1});
        return RUN_KILLED;
}

int run_switch(const struct facts *f, enum driver target, usec_t deadline)
{
        char hold[48], attachment[ATTACHMENT_ARG_MAX];
        char *move[] = {(char *) PROGRAM_SWITCH,
                        (char *) "--automatic",
                        (char *) "--plugged",
                        (char *) "--no-udev",
                        hold,
                        (char *) attachment_arg(f, attachment),
                        (char *) f->interface,
                        (char *) driver_to_string(target),
                        NULL};
        char *recover[] = {(char *) PROGRAM_SWITCH, (char *) "--no-udev", (char *) "--recover",
                           (char *) f->interface, NULL};

        (void) snprintf(hold, sizeof(hold), "--hold-deadline=%llu", (unsigned long long) deadline);
        return run_program(target == DRIVER_NONE ? recover : move,
                           deadline + (target == DRIVER_NONE ? 0 : GRACE));
}

void run_modprobe(const char *module)
{
        char *argv[] = {(char *) PROGRAM_MODPROBE, (char *) "-q", (char *) module, NULL};

        (void) run_program(argv, now_boottime() + MODPROBE_BUDGET);
}
