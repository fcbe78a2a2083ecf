/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "sys/state/switch-record.h"

/* The two locks of a switch's lock file. */

#define ROUNDS 20000

static char path[] = "/tmp/uasd-lock-XXXXXX";

static int file(int flags)
{
        int fd = open(path, flags | O_CLOEXEC);

        assert_true(fd >= 0);
        return fd;
}

static void test_two(void **state)
{
        int one = file(O_RDWR), two = file(O_RDWR), child = file(O_RDONLY), child2 = file(O_RDONLY);

        assert_false(switch_lock_held(two, SWITCH_LOCK));
        assert_int_equal(switch_lock_take(child, SWITCH_LOCK_CHILDREN), 0);
        assert_int_equal(switch_lock_take(child2, SWITCH_LOCK_CHILDREN),
                         0); /* a switch has several children */
        assert_false(switch_lock_held(two, SWITCH_LOCK));
        assert_int_equal(switch_lock_take(one, SWITCH_LOCK), 0);
        assert_true(switch_lock_held(two, SWITCH_LOCK));
        assert_int_equal(switch_lock_take(two, SWITCH_LOCK), -EAGAIN);
        assert_true(switch_lock_held(one, SWITCH_LOCK_CHILDREN));
        (void) close(child);
        assert_true(switch_lock_held(one, SWITCH_LOCK_CHILDREN));
        (void) close(child2);
        assert_false(switch_lock_held(one, SWITCH_LOCK_CHILDREN));
        (void) close(one);
        assert_int_equal(switch_lock_take(two, SWITCH_LOCK), 0);
        (void) close(two);
}

/* A process that keeps testing the lock never prevents another one from taking it. */
static void test_a_look_takes_nothing(void **state)
{
        int p[2];
        pid_t pid;
        char c;

        assert_int_equal(pipe(p), 0);
        pid = fork();
        if (pid == 0) {
                int fd = file(O_RDONLY);

                (void) !write(p[1], "", 1);
                for (;;)
                        (void) switch_lock_held(fd, SWITCH_LOCK);
        }
        assert_true(pid > 0);
        assert_int_equal(read(p[0], &c, 1), 1);
        for (unsigned i = 0; i < ROUNDS; i++) {
                int fd = file(O_RDWR);

                assert_int_equal(switch_lock_take(fd, SWITCH_LOCK), 0);
                (void) close(fd);
        }
        (void) kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        (void) close(p[0]);
        (void) close(p[1]);
}

static int set_up(void **state)
{
        int fd = mkostemp(path, O_CLOEXEC);

        return fd < 0 ? -1 : close(fd);
}

static int tear_down(void **state)
{
        return unlink(path);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_two),
                                           cmocka_unit_test(test_a_look_takes_nothing)};

        return cmocka_run_group_tests(tests, set_up, tear_down);
}
