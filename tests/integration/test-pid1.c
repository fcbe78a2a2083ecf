/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "../patience.h"
#include "common/names.h"
#include "sys/io/clock.h"
#include "sys/io/pid1.h"

/*
 * A PID 1 in a /run of the test's own: one that does not answer, and the one of
 * tests/daemon/fake-pid1.c, which is the first argument. One deadline covers connection, handshake
 * and answer.
 */

#define SHORT patience(200 * USEC_PER_MSEC)
/* sd-bus gives up a handshake after 90 s, a call after 25 s */
#define LONG patience(5 * USEC_PER_SEC)

static char top[] = "/tmp/uasd-pid1-XXXXXX";
static struct roots roots = ROOTS_NULL;

/* Any case may be the first one, as it may run alone. */
static void folder(const char *name)
{
        assert_true(mkdirat(roots.run, name, 0755) == 0 || errno == EEXIST);
}

static int listener(const char *name)
{
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        (void) snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", top, name);
        assert_int_equal(bind(fd, (struct sockaddr *) &address, sizeof(address)), 0);
        assert_int_equal(listen(fd, 16), 0);
        return fd;
}

/* Each query over a connection of its own. */
static bool hurry = true;

static struct awake soon(void)
{
        return awake_in(hurry ? SHORT : LONG);
}

static int state(sd_bus *pid1)
{
        enum pid1_state s;

        return pid1_state(pid1, soon(), &s);
}

static int timer(sd_bus *pid1)
{
        return pid1_arm_release(pid1, soon(), "2-1:1.0");
}

static int usec(sd_bus *pid1)
{
        uint64_t v;

        return pid1_get_usec(pid1, soon(), PID1_PATH, PID1_MANAGER,
                             "UnitsLoadFinishTimestampMonotonic", &v);
}

static int start(sd_bus *pid1)
{
        return pid1_start(&roots, "modprobe@uas.service", soon());
}

static void all_time_out(void)
{
        static int (*const calls[])(sd_bus *) = {state, timer, usec, start};

        for (size_t i = 0; i < ELEMENTSOF(calls); i++) {
                struct awake began = now_awake();
                sd_bus *pid1 = NULL;

                assert_int_equal(pid1_open(&roots, &pid1), 0);
                assert_int_equal(calls[i](pid1), -ETIMEDOUT);
                assert_in_range(awake_since(began), SHORT, LONG);
                sd_bus_close_unref(pid1);
        }
}

static void test_none(void **state)
{
        sd_bus *pid1 = NULL;

        assert_int_equal(pid1_open(&roots, &pid1), -ENOENT);
        assert_int_equal(pid1_open(&ROOTS_NULL, &pid1), -ENOENT);
        assert_null(pid1);
}

/* A systemd without its own socket, before D-Bus runs: PID 1 exists, but cannot be reached. */
static void test_unreachable(void **state)
{
        sd_bus *pid1 = NULL;

        folder("systemd");
        folder(RUN_SYSTEMD_BOOTED);
        assert_int_equal(pid1_open(&roots, &pid1), -ENOTCONN);
        assert_null(pid1);
}

static void test_mute_bus(void **state)
{
        int fd;

        folder("systemd");
        folder(RUN_SYSTEMD_BOOTED);
        folder("dbus");
        fd = listener(RUN_SYSTEM_BUS_SOCKET);
        all_time_out();
        (void) close(fd);
}

/* Connections succeed, because the kernel accepts them. The handshake gets no answer. */
static void test_mute(void **state)
{
        int fd;

        folder("systemd");
        fd = listener(RUN_PID1_SOCKET);
        all_time_out();
        (void) close(fd);
}

/* ---- one that answers ---- */

static const char *program;
static pid_t child;
static int orders = -1;

static void order(const char *line)
{
        assert_int_equal(write(orders, line, strlen(line)), (ssize_t) strlen(line));
}

static sd_bus *answering_after(const char *first)
{
        char path[64];
        sd_bus *pid1 = NULL;
        int fds[2];

        folder("systemd");
        (void) unlinkat(roots.run, RUN_PID1_SOCKET, 0);
        (void) snprintf(path, sizeof(path), "%s/" RUN_PID1_SOCKET, top);
        assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
        child = fork();
        if (child == 0) {
                (void) dup2(fds[0], STDIN_FILENO);
                (void) dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDOUT_FILENO);
                (void) execl(program, program, path, NULL);
                _exit(127);
        }
        (void) close(fds[0]);
        orders = fds[1];
        order(first);
        order("answer\n");
        while (faccessat(roots.run, RUN_PID1_SOCKET, F_OK, 0) < 0)
                (void) usleep(1000);
        /* It is bound a moment before it listens. */
        while (pid1_open(&roots, &pid1) < 0)
                (void) usleep(1000);
        return pid1;
}

static sd_bus *answering(void)
{
        return answering_after("state running\n");
}

static void over(sd_bus *pid1)
{
        sd_bus_close_unref(pid1);
        (void) close(orders);
        assert_int_equal(waitpid(child, NULL, 0), child);
}

static void test_states(void **state)
{
        static const struct {
                const char *word;
                enum pid1_state state;
        } table[] = {
                {"initializing", PID1_STARTING}, {"starting", PID1_STARTING},
                {"running", PID1_RUNNING},       {"degraded", PID1_RUNNING},
                {"maintenance", PID1_RUNNING},   {"stopping", PID1_STOPPING},
        };
        sd_bus *pid1 = answering();

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                enum pid1_state s = PID1_STOPPING;
                char line[64];

                (void) snprintf(line, sizeof(line), "state %s\n", table[i].word);
                order(line);
                for (int tries = 0; tries < 500 && (tries == 0 || s != table[i].state); tries++) {
                        assert_int_equal(pid1_state(pid1, awake_in(LONG), &s), 0);
                        (void) usleep((useconds_t) tries * 100);
                }
                assert_int_equal(s, table[i].state);
        }
        over(pid1);
}

static void test_numbers(void **state)
{
        sd_bus *pid1 = answering();
        usec_t v = 1;

        assert_true(pid1_get_usec(pid1, awake_in(LONG), PID1_PATH, PID1_MANAGER,
                                  "UnitsLoadFinishTimestampMonotonic", &v) < 0);
        assert_true(pid1_get_usec(pid1, awake_in(LONG), PID1_PATH, PID1_MANAGER, "NoSuchProperty",
                                  &v) < 0);
        assert_int_equal(v, 1);
        order("loaded 12345678901\n");
        while (pid1_get_usec(pid1, awake_in(LONG), PID1_PATH, PID1_MANAGER,
                             "UnitsLoadFinishTimestampMonotonic", &v) < 0)
                (void) usleep(1000);
        assert_true(v == 12345678901);
        assert_true(pid1_arm_release(pid1, awake_in(LONG), "2-1:1.0") >= 0);
        over(pid1);
}

/* The call returns when its own job has ended, not when another one has. */
static void test_start(void **state)
{
        sd_bus *pid1 = answering();
        struct awake began = now_awake();
        pid_t later = fork();

        if (later == 0) {
                (void) usleep(2 * SHORT);
                order("job\n");
                _exit(0);
        }
        assert_true(pid1_start(&roots, "modprobe@uas.service", awake_in(LONG)) >= 0);
        assert_in_range(awake_since(began), 2 * SHORT, LONG);
        (void) waitpid(later, NULL, 0);
        assert_int_equal(pid1_start(&roots, "modprobe@uas.service", awake_in(SHORT)), -ETIMEDOUT);
        over(pid1);
}

/* A call that fails, and an answer of another type, are errors at once. */
static void test_no_use(void **unused)
{
        static const struct {
                int (*call)(sd_bus *pid1);
                const char *first;
        } rows[] = {
                {state, "refuse 1\n"}, {state, "garble 1\n"}, {usec, "refuse 1\n"},
                {usec, "garble 1\n"},  {start, "refuse 1\n"}, {start, "garble 1\n"},
                {timer, "refuse 1\n"},
        };

        hurry = false;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                sd_bus *pid1 = answering_after(rows[i].first);
                int r = rows[i].call(pid1);

                if (r >= 0 || r == -ETIMEDOUT)
                        fail_msg("row %zu: %i", i, r);
                over(pid1);
        }
        hurry = true;
}

/* The connection ends while the job runs. */
static void test_hang_up(void **state)
{
        sd_bus *pid1 = answering();
        pid_t later = fork();
        int r;

        if (later == 0) {
                (void) usleep(SHORT);
                order("hang up\n");
                _exit(0);
        }
        r = pid1_start(&roots, "modprobe@uas.service", awake_in(LONG));
        assert_true(r < 0 && r != -ETIMEDOUT);
        (void) waitpid(later, NULL, 0);
        over(pid1);
}

/* Without a wait: the answer comes through the event loop and ends the connection. */
static void test_start_later(void **state)
{
        sd_bus *pid1 = answering(), *later = NULL;
        sd_event *event = NULL;
        struct awake deadline = awake_in(2 * LONG);

        assert_true(sd_event_new(&event) >= 0);
        assert_true(pid1_start_later(&roots, event, "one.service", &later) >= 0);
        assert_non_null(later);
        while (later && awake_left(deadline) > 0)
                assert_true(sd_event_run(event, USEC_PER_SEC / 10) >= 0);
        assert_null(later);
        sd_event_unref(event);
        over(pid1);
}

static void test_start_later_without(void **state)
{
        sd_bus *later = NULL;
        sd_event *event = NULL;

        assert_true(sd_event_new(&event) >= 0);
        assert_int_equal(pid1_start_later(&ROOTS_NULL, event, "one.service", &later), -ENOENT);
        assert_null(later);
        sd_event_unref(event);
}

static int set_up(void **state)
{
        if (!mkdtemp(top))
                return -1;
        roots.run = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return roots.run < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
        static const char *const names[] = {RUN_PID1_SOCKET, RUN_SYSTEM_BUS_SOCKET,
                                            RUN_SYSTEMD_BOOTED, "systemd", "dbus"};

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                (void) unlinkat(roots.run, names[i], i < 2 ? 0 : AT_REMOVEDIR);
        roots_close(&roots);
        return rmdir(top);
}

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_none),
                                           cmocka_unit_test(test_unreachable),
                                           cmocka_unit_test(test_mute_bus),
                                           cmocka_unit_test(test_mute),
                                           cmocka_unit_test(test_states),
                                           cmocka_unit_test(test_numbers),
                                           cmocka_unit_test(test_start),
                                           cmocka_unit_test(test_no_use),
                                           cmocka_unit_test(test_hang_up),
                                           cmocka_unit_test(test_start_later),
                                           cmocka_unit_test(test_start_later_without)};

        assert_true(argc > 1);
        program = argv[1];
        return cmocka_run_group_tests(tests, set_up, tear_down);
}
