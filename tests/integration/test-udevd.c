/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "common/util.h"
#include "sys/platform/udevd.h"

/* The real udevd, with a /run and a network of its own. It gets no rules and no events to act on:
 * only its sockets count. */

#define UDEVD "/lib/systemd/systemd-udevd"

static pid_t udevd_start(void)
{
        pid_t pid = fork();

        if (pid == 0) {
                (void) execl(UDEVD, UDEVD, NULL);
                _exit(127);
        }
        return pid;
}

static bool runs_within(const struct roots *roots, bool wanted, unsigned msec)
{
        for (; udevd_runs(roots) != wanted; msec -= 20) {
                if (msec == 0)
                        return false;
                (void) usleep(20000);
        }
        return true;
}

static void test_started_killed_started(void **state)
{
        struct roots roots = ROOTS_NULL;

        if (access(UDEVD, X_OK) < 0 || unshare(CLONE_NEWNS | CLONE_NEWNET) < 0 ||
            mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            mount("none", "/run", "tmpfs", 0, NULL) < 0)
                skip(); /* there is no udevd or no permission here */
        assert_int_equal(mkdir("/run/udev", 0755), 0);
        assert_true(roots_open(&roots, NULL) >= 0);
        assert_false(udevd_runs(&roots));
        for (int i = 0; i < 2; i++) {
                pid_t pid = udevd_start();

                assert_true(runs_within(&roots, true, 20000));
                (void) kill(pid, SIGKILL);
                (void) waitpid(pid, NULL, 0);
                assert_int_equal(access("/run/udev/control", F_OK), 0);
                assert_true(runs_within(&roots, false, 20000));
        }
        roots_close(&roots);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_started_killed_started)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
