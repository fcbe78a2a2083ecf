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

#include "common/names.h"
#include "sys/io/clock.h"
#include "sys/io/pid1.h"

/* A PID 1 that does not answer, in a /run of the test's own. One deadline covers connection, handshake and answer. */

#define SHORT (200 * USEC_PER_MSEC)
#define LONG (5 * USEC_PER_SEC) /* sd-bus gives up a handshake after 90 s, a call after 25 s */

static char top[] = "/tmp/uasd-pid1-XXXXXX";
static struct roots roots = ROOTS_NULL;

static void folder(const char *name)
{
        assert_int_equal(mkdirat(roots.run, name, 0755), 0);
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
static int state(sd_bus *pid1)
{
        enum pid1_state s;

        return pid1_state(pid1, awake_in(SHORT), &s);
}

static int question(sd_bus *pid1)
{
        struct pid1_question q = {0};
        enum pid1_state s;

        assert_int_equal(pid1_ask(pid1, &q), 0);
        return pid1_answer(pid1, awake_in(SHORT), &q, &s);
}

static int timer(sd_bus *pid1)
{
        return pid1_arm_release(pid1, awake_in(SHORT), "2-1:1.0");
}

static int usec(sd_bus *pid1)
{
        uint64_t v;

        return pid1_get_usec(pid1, awake_in(SHORT), PID1_PATH, PID1_MANAGER, "UnitsLoadFinishTimestampMonotonic", &v);
}

static int module(sd_bus *pid1)
{
        return pid1_load_module(&roots, "uas", awake_in(SHORT));
}

static void all_time_out(void)
{
        static int (*const calls[])(sd_bus *) = {state, question, timer, usec, module};

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

        folder("dbus");
        fd = listener(RUN_SYSTEM_BUS_SOCKET);
        all_time_out();
        (void) close(fd);
}

/* Connections succeed, because the kernel accepts them. The handshake gets no answer. */
static void test_mute(void **state)
{
        int fd = listener(RUN_PID1_SOCKET);

        all_time_out();
        (void) close(fd);
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
        static const char *const names[] = {RUN_PID1_SOCKET, RUN_SYSTEM_BUS_SOCKET, RUN_SYSTEMD_BOOTED, "systemd", "dbus"};

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                (void) unlinkat(roots.run, names[i], i < 2 ? 0 : AT_REMOVEDIR);
        roots_close(&roots);
        return rmdir(top);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_none), cmocka_unit_test(test_unreachable),
                                           cmocka_unit_test(test_mute_bus), cmocka_unit_test(test_mute)};

        return cmocka_run_group_tests(tests, set_up, tear_down);
}
