/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "common/child.h"
#include "common/util.h"

#define FDS 40 /* the test looks at 0 to 39 */

/* The descriptors that are open, a bit each. */
static uint64_t open_fds(void)
{
        uint64_t set = 0;

        for (int fd = 0; fd < FDS; fd++)
                if (fcntl(fd, F_GETFD) >= 0)
                        set |= UINT64_C(1) << fd;
        return set;
}

static uint64_t in_child(const int *keep, size_t n)
{
        uint64_t set = 0;
        int status, p[2];
        pid_t pid;

        assert_int_equal(pipe(p), 0);
        /* The child's end of the pipe is kept as well. */
        int all[16];

        for (size_t i = 0; i < n; i++)
                all[i] = keep[i];
        all[n] = p[1];
        pid = child_fork(all, n + 1);
        if (pid == 0) {
                set = open_fds() & ~(UINT64_C(1) << p[1]);
                (void) !write(p[1], &set, sizeof(set));
                _exit(0);
        }
        assert_true(pid > 0);
        (void) close(p[1]);
        assert_int_equal(read(p[0], &set, sizeof(set)), sizeof(set));
        (void) close(p[0]);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        return set;
}

static uint64_t bits(const int *fds, size_t n)
{
        uint64_t set = 7;

        for (size_t i = 0; i < n; i++)
                set |= UINT64_C(1) << fds[i];
        return set;
}

/* A child has descriptors 0 to 2 and those in the list, in any order of the list, and no others. */
static void test_keeps(void **state)
{
        static const int neighbours[] = {11, 10}, ends[] = {3, 30, 17}, twice[] = {20, 20};

        for (int fd = 3; fd <= 30; fd++)
                assert_int_equal(dup2(STDERR_FILENO, fd), fd);
        assert_int_equal(in_child(NULL, 0), bits(NULL, 0));
        assert_int_equal(in_child(neighbours, 2), bits(neighbours, 2));
        assert_int_equal(in_child(ends, 3), bits(ends, 3));
        assert_int_equal(in_child(twice, 2), bits(twice, 2));
        assert_int_equal(in_child((const int[]){-1, 12, -1}, 3), bits((const int[]){12}, 1));
}

/* A child does not outlive its parent. */
static void test_dies(void **state)
{
        int p[2];
        pid_t parent;
        char byte;

        assert_int_equal(pipe(p), 0);
        parent = fork();
        if (parent == 0) {
                pid_t pid = child_fork(&p[1], 1);

                if (pid == 0)
                        for (;;)
                                (void) pause();
                (void) pause();
        }
        assert_true(parent > 0);
        (void) close(p[1]);
        assert_int_equal(kill(parent, SIGKILL), 0);
        assert_int_equal(read(p[0], &byte, 1), 0); /* both processes have closed it */
        (void) close(p[0]);
        assert_int_equal(waitpid(parent, NULL, 0), parent);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_keeps),
                                           cmocka_unit_test(test_dies)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
