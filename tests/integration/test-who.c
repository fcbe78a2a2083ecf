/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "common/util.h"
#include "sys/io/sysfs.h"
#include "sys/users/users.h"
#include "sys/users/who.h"

/* How a process can be ended, on the kernel of this machine. */

static void handle(int signal)
{
}

static const struct how {
        void (*action)(int);
        int space; /* CLONE_NEWPID: it is the first process of a pid namespace */
        bool ignores;
} hows[] = {
        {SIG_DFL, 0, false},
        {SIG_IGN, 0, true},
        {handle, 0, false},
        {SIG_DFL, CLONE_NEWPID, true},
        {handle, CLONE_NEWPID, false},
};

static void sleep_so(const struct how *how, int out)
{
        if (how->space && unshare(how->space) < 0)
                _exit(1);
        if (how->space && fork() > 0) {
                (void) pause();
                _exit(0);
        }
        (void) signal(SIGTERM, how->action);
        (void) !write(out, "", 1);
        for (;;)
                (void) pause();
}

/* The child, or its only child if that is in the new pid namespace. */
static pid_t whose(const struct roots *r, pid_t pid, const struct how *how)
{
        char path[64], text[32] = "";

        if (!how->space)
                return pid;
        (void) snprintf(path, sizeof(path), "%i/task/%i/children", (int) pid, (int) pid);
        return attr_read(r->proc, path, text, sizeof(text)) > 0 ? (pid_t) atol(text) : 0;
}

/* SIGTERM really ends those processes, and no other, that are said to end. */
static void test_term(void **state)
{
        struct roots r = ROOTS_NULL;

        assert_true(roots_open(&r, NULL) >= 0);
        for (size_t i = 0; i < ELEMENTSOF(hows); i++) {
                struct user u = {.kind = USER_OPEN};
                int fds[2], status = 0;
                pid_t child;
                char c;

                assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
                child = fork();
                if (child == 0)
                        sleep_so(hows + i, fds[1]);
                (void) close(fds[1]);
                if (read(fds[0], &c, 1) == 1 && (u.pid = whose(&r, child, hows + i)) > 0) {
                        user_take_process(&r, &u, u.pid);
                        assert_true(user_still_there(&r, &u));
                        if (user_ignores_term(&r, &u) != hows[i].ignores)
                                fail_msg("row %zu", i);
                        if (hows[i].action == SIG_DFL && !hows[i].space) {
                                (void) kill(u.pid, SIGTERM);
                                assert_int_equal(waitpid(child, &status, 0), child);
                                assert_false(user_still_there(&r, &u));
                        }
                        (void) kill(u.pid, SIGKILL);
                }
                (void) close(fds[0]);
                (void) kill(child, SIGKILL);
                (void) waitpid(child, NULL, 0);
                free(u.command);
                free(u.unit);
        }
        roots_close(&r);
}

/* A process of another name or in another namespace has only the number of the former one. */
static void test_another(void **state)
{
        struct roots r = ROOTS_NULL;
        struct user u = {.kind = USER_MOUNT}, *list = NULL;
        char own[64], other[64];
        size_t n = 0;
        bool found = false;

        assert_true(roots_open(&r, NULL) >= 0);
        user_take_process(&r, &u, getpid());
        assert_true(user_still_there(&r, &u));
        assert_true(link_basename(r.proc, "self/ns/mnt", own, sizeof(own)) > 0);
        u.namespace = own;
        assert_true(user_still_there(&r, &u));
        (void) snprintf(other, sizeof(other), "mnt:[1]");
        u.namespace = other;
        assert_false(user_still_there(&r, &u));
        u.namespace = own;
        u.command[0] ^= 1;
        assert_false(user_still_there(&r, &u));
        free(u.command);
        free(u.unit);

        assert_int_equal(users_of_namespace(&r, own, &list, &n), 0);
        for (size_t i = 0; i < n; i++)
                found = found || list[i].pid > 0;
        assert_true(found);
        users_free(list, n);
        list = NULL;
        assert_int_equal(users_of_namespace(&r, "mnt:[1]", &list, &n), 0);
        assert_int_equal(n, 0);
        users_free(list, n);
        assert_false(user_unit_runs(&r, "uasd-there-is-none.service"));
        roots_close(&r);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_term),
                                           cmocka_unit_test(test_another)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
