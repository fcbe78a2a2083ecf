/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "../patience.h"
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
        int status, fd = -1;
        pid_t pid = child_fork(keep, n, &fd);

        if (pid == 0) {
                set = open_fds() & ~(UINT64_C(1) << fd);
                (void) !write(fd, &set, sizeof(set));
                _exit(0);
        }
        assert_true(pid > 0);
        assert_int_equal(read(fd, &set, sizeof(set)), sizeof(set));
        (void) close(fd);
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
                int fd;
                pid_t pid = child_fork(&p[1], 1, &fd);

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

/* Starts a program, and returns its output. */
static const char *output(struct program p, const char *const *argv)
{
        static char text[200];
        int out[2];
        ssize_t n;
        pid_t pid;

        assert_int_equal(pipe2(out, O_CLOEXEC), 0);
        p.argv = argv;
        p.fds[1] = out[1];
        pid = child_spawn(&p);
        assert_true(pid > 0);
        (void) close(out[1]);
        n = read(out[0], text, sizeof(text) - 1);
        text[n > 0 ? n : 0] = '\0';
        (void) close(out[0]);
        assert_int_equal(child_exit_status(pid, patience(10 * USEC_PER_SEC), 1000), 0);
        return text;
}

static const char *said(struct program p, const char *line)
{
        return output(p, (const char *const[]){"sh", "-c", line, NULL});
}

static const struct program plain = {.exec = execvpe, .fds = {-1, -1, -1}};

/* A program inherits descriptors, and the process group. */
static void test_program_inherits(void **state)
{
        const char *const env[] = {"A=b", NULL};
        struct program fore = plain, other = plain;
        char group[20];

        fore.foreground = true;
        other.env = env;
        assert_int_equal(dup2(STDERR_FILENO, 7), 7);
        assert_string_equal(said(plain, "test -e /proc/self/fd/7 || echo no"), "no\n");
        assert_string_equal(said(fore, "test -e /proc/self/fd/7 && echo yes"), "yes\n");
        (void) snprintf(group, sizeof(group), "%i\n", getpgid(0));
        assert_string_equal(said(fore, "cut -d' ' -f5 /proc/$$/stat"), group);
        assert_string_not_equal(said(plain, "cut -d' ' -f5 /proc/$$/stat"), group);
        assert_string_equal(said(other, "echo $A$HOME"), "b\n");
        (void) close(7);
}

/* Its descriptors may have each other's numbers here. */
static void test_program_fds(void **state)
{
        int r, in = dup(STDIN_FILENO), out[2];
        const char *const argv[] = {"cat", NULL};
        char text[10];

        assert_int_equal(pipe2(out, O_CLOEXEC), 0);
        assert_int_equal(write(out[1], "x", 1), 1);
        assert_int_equal(dup3(out[0], STDIN_FILENO, O_CLOEXEC), STDIN_FILENO);
        (void) close(out[1]);
        (void) close(out[0]);
        assert_int_equal(pipe2(out, O_CLOEXEC), 0);
        r = child_spawn(&(struct program){
                .argv = argv, .exec = execvpe, .fds = {STDIN_FILENO, out[1], -1}});
        assert_true(r > 0);
        assert_int_equal(dup2(in, STDIN_FILENO), STDIN_FILENO);
        (void) close(in);
        (void) close(out[1]);
        assert_int_equal(read(out[0], text, sizeof(text)), 1);
        (void) close(out[0]);
        assert_int_equal(child_exit_status(r, patience(10 * USEC_PER_SEC), 1000), 0);
}

static void blocked_signal(int number)
{
        _exit(9);
}

/* Signals are as here, but a handler of this process never runs in the child. */
static void test_program_signals(void **state)
{
        /* Not by a shell, which may unblock signals. */
        static const char *const masks[] = {"sed", "-n", "s/^Sig\\(Blk\\|Ign\\):.//p",
                                            "/proc/self/status", NULL};
        struct program fresh = plain, given = plain;
        sigset_t none, usr1;

        fresh.new_signals = true;
        (void) sigemptyset(&none);
        (void) sigemptyset(&usr1);
        (void) sigaddset(&usr1, SIGUSR1);
        given.blocked = &none;
        for (int i = 1; i < NSIG; i++) /* a shell ignores some for what it runs in the background */
                (void) signal(i, SIG_DFL);
        (void) signal(SIGUSR1, blocked_signal);
        (void) signal(SIGUSR2, SIG_IGN);
        (void) sigprocmask(SIG_BLOCK, &usr1, NULL);
        assert_string_equal(output(plain, masks), "0000000000000200\n0000000000000800\n");
        assert_string_equal(output(fresh, masks), "0000000000000000\n0000000000000000\n");
        assert_string_equal(output(given, masks), "0000000000000000\n0000000000000800\n");
        (void) sigprocmask(SIG_UNBLOCK, &usr1, NULL);
        (void) signal(SIGUSR1, SIG_DFL);
        (void) signal(SIGUSR2, SIG_DFL);
}

/* The errors of the exec, and of a program that does not end by itself. */
static void test_program_errors(void **state)
{
        static const char *const none[] = {"/no/such/program", NULL}, *const folder[] = {"/", NULL},
                                 *const hangs[] = {"sleep", "60", NULL},
                                 *const killed[] = {"sh", "-c", "kill -KILL $$", NULL},
                                 *const fails[] = {"false", NULL};
        struct program p = plain;

        p.argv = none;
        assert_int_equal(child_spawn(&p), -ENOENT);
        p.argv = hangs;
        p.exec = NULL; /* $PATH is not searched */
        assert_int_equal(child_spawn(&p), -ENOENT);
        p.exec = execvpe;
        p.argv = folder;
        assert_int_equal(child_spawn(&p), -EACCES);
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
        p.argv = hangs;
        assert_int_equal(child_exit_status(child_spawn(&p), 1000, 10000), -ETIMEDOUT);
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
        p.argv = killed;
        assert_int_equal(child_exit_status(child_spawn(&p), patience(10 * USEC_PER_SEC), 1000),
                         -ECANCELED);
        p.argv = fails;
        assert_int_equal(child_exit_status(child_spawn(&p), patience(10 * USEC_PER_SEC), 1000), 1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_keeps),
                                           cmocka_unit_test(test_dies),
                                           cmocka_unit_test(test_program_inherits),
                                           cmocka_unit_test(test_program_fds),
                                           cmocka_unit_test(test_program_signals),
                                           cmocka_unit_test(test_program_errors)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
