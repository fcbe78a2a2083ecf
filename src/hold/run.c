/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <unistd.h>

#include "common/child.h"
#include "common/names.h"
#include "common/util.h"
#include "hold/early.h"
#include "sys/io/clock.h"
#include "sys/state/attachment.h"

/* At its deadline uasd-switch brings the disk back. This is the time for that. */
#define GRACE (3 * USEC_PER_SEC)
#define MODPROBE_BUDGET (10 * USEC_PER_SEC)
#define DEATH_MSEC 1000 /* for a program that is killed */
#define PROGRAM_MODPROBE "/sbin/modprobe"

/* A child that hangs in the kernel is not waited for: it ends as soon as it wakes up. */
static int run_program(const char *const argv[], usec_t end)
{
        _cleanup_close_ int log = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
        usec_t now = now_boottime();
        pid_t pid;

        /* udev reads properties from our own stdout. The kernel's log gets into the journal. */
        if (log < 0)
                log = open("/dev/null", O_WRONLY | O_CLOEXEC);
        pid = child_spawn(
                &(struct program){.argv = argv, .fds = {-1, log, log}, .new_signals = true});
        if (pid < 0)
                return pid;
        return child_exit_status(pid, end > now ? end - now : 0, DEATH_MSEC);
}

int run_switch(const struct facts *f, enum driver target, usec_t deadline)
{
        char hold[48], attachment[ATTACHMENT_ARG_MAX];
        const char *const move[] = {(const char *) PROGRAM_SWITCH,
                                    "--automatic",
                                    "--plugged",
                                    "--no-udev",
                                    hold,
                                    attachment_arg(f, attachment),
                                    f->interface,
                                    driver_to_string(target),
                                    NULL};
        const char *const recover[] = {(const char *) PROGRAM_SWITCH, "--no-udev", "--recover",
                                       f->interface, NULL};

        (void) snprintf(hold, sizeof(hold), "--hold-deadline=%llu", (unsigned long long) deadline);
        return run_program(target == DRIVER_NONE ? recover : move,
                           target == DRIVER_NONE ? deadline : deadline + GRACE);
}

void run_modprobe(const char *module)
{
        const char *const argv[] = {PROGRAM_MODPROBE, "-q", module, NULL};

        (void) run_program(argv, now_boottime() + MODPROBE_BUDGET);
}
