/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "../patience.h"
#include "common/child.h"
#include "common/names.h"
#include "sys/io/ask-pid1.h"

/* The caller of uasd-pid1. In place of that program a shell runs a line of the test. tests/hold has
 * the program. */

#define SHORT patience(200 * USEC_PER_MSEC)
#define LONG patience(10 * USEC_PER_SEC)

/* For the shell. NULL stands for a program that does not exist, "" for one that cannot run. */
static const char *line;

pid_t __real_child_spawn(const struct program *p);
pid_t __wrap_child_spawn(const struct program *p);
pid_t __wrap_child_spawn(const struct program *p)
{
        const char *const
                shell[] = {"/bin/sh", "-c", line, p->argv[0], p->argv[1], p->argv[2], NULL},
                *const none[] = {"/no/such/program", NULL}, *const unfit[] = {"/dev/null", NULL};
        struct program other = *p;

        assert_string_equal(p->argv[0], PROGRAM_PID1);
        other.argv = !line ? none : *line ? shell : unfit;
        return __real_child_spawn(&other);
}

static void test_answers(void **state)
{
        static const struct {
                const char *line;
                int r;
        } rows[] = {
                {"echo 0", 0},
                {"echo 2", 2},
                {"sleep 0.1; echo 1", 1},
                {"echo -2; exit 1", -ENOENT},
                {"echo -110; exit 1", -ETIMEDOUT},
                /* No whole line is no answer. */
                {"exit 0", -ECANCELED},
                {"exit 127", -ECANCELED},
                {"printf 1", -ECANCELED},
                {"kill -KILL $$", -ECANCELED},
                {"echo 11111111111111111111", -ECANCELED},
                {"exec sleep 60", -ETIMEDOUT},
                {"kill -STOP $$", -ETIMEDOUT},
                {"trap '' TERM INT; exec sleep 60", -ETIMEDOUT},
                {NULL, -ECANCELED},
                {"", -EACCES},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                bool late = rows[i].r == -ETIMEDOUT && !strchr(rows[i].line, '-');
                struct awake began = now_awake();
                int r;

                line = rows[i].line;
                r = pid1_ask_and_wait(
                        PID1_ASK_STATE, NULL,
                        awake_in(late || !line || strstr(line, "STOP") ? SHORT : LONG));
                if (r != rows[i].r)
                        fail_msg("%s: %i", line, r);
                assert_in_range(awake_since(began), late ? SHORT : 0, LONG);
        }
}

/* Its arguments; and it has none of our descriptors, not even for a moment: a node that is open
 * counts as a use. */
static void test_child(void **state)
{
        struct pid1_question q = {0};
        int low = open("/dev/null", O_RDONLY | O_CLOEXEC),
            fd = fcntl(low, F_DUPFD_CLOEXEC, 100); /* the shell opens only low ones */
        char path[64], target[32];
        pid_t pid;

        (void) close(low);
        line = "[ \"$0 $1 $2\" = '" PROGRAM_PID1 " release 2-1:1.0' ] && echo 7; exec sleep 60";
        assert_int_equal(pid1_ask(PID1_ASK_RELEASE, "2-1:1.0", &q), 0);
        pid = q.pid;
        (void) snprintf(path, sizeof(path), "/proc/%i/fd/%i", (int) pid, fd);
        assert_int_equal(readlink(path, target, sizeof(target)), -1);
        assert_int_equal(getpgid(pid), pid);
        assert_int_equal(pid1_answer(&q, awake_in(LONG)), 7);
        assert_int_equal(q.pid, 0);
        pid1_forget(&q); /* of none: nothing happens */
        (void) waitpid(pid, NULL, 0);
        assert_int_equal(kill(pid, 0), -1);
        (void) close(fd);
}

/* A caller that does not need the answer any more ends the child. */
static void test_forgotten(void **state)
{
        struct pid1_question q = {0};
        int status = 0;
        pid_t pid;

        line = "exec sleep 60";
        assert_int_equal(pid1_ask(PID1_ASK_STATE, NULL, &q), 0);
        pid = q.pid;
        pid1_forget(&q);
        assert_int_equal(q.pid, 0);
        if (waitpid(pid, &status, 0) == pid) /* or pid1_forget() has reaped it */
                assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void test_no_descriptors(void **state)
{
        struct rlimit before, none = {0};
        struct pid1_question q = {0};

        line = "echo 0";
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
        none.rlim_max = before.rlim_max;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
        assert_int_equal(pid1_ask(PID1_ASK_STATE, NULL, &q), -EMFILE);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        assert_int_equal(q.pid, 0);
}

static void test_there(void **state)
{
        char top[] = "/tmp/uasd-ask-XXXXXX";
        struct roots r = ROOTS_NULL;

        assert_int_equal(pid1_there(&r), -ENOENT);
        assert_non_null(mkdtemp(top));
        r.run = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_int_equal(pid1_there(&r), -ENOENT);
        assert_int_equal(mkdirat(r.run, "systemd", 0755), 0);
        assert_int_equal(mkdirat(r.run, RUN_SYSTEMD_BOOTED, 0755), 0);
        assert_int_equal(pid1_there(&r), 0);
        assert_int_equal(unlinkat(r.run, RUN_SYSTEMD_BOOTED, AT_REMOVEDIR), 0);
        (void) close(openat(r.run, RUN_PID1_SOCKET, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        assert_int_equal(pid1_there(&r), 0);
        assert_int_equal(unlinkat(r.run, RUN_PID1_SOCKET, 0), 0);
        assert_int_equal(unlinkat(r.run, "systemd", AT_REMOVEDIR), 0);
        roots_close(&r);
        assert_int_equal(rmdir(top), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_answers), cmocka_unit_test(test_child),
                cmocka_unit_test(test_forgotten), cmocka_unit_test(test_no_descriptors),
                cmocka_unit_test(test_there)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
