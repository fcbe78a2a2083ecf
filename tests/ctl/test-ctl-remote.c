/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "../patience.h"
#include "samples.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "client/remote-parse.h"
#include "client/remote.h"
#include "common/names.h"
#include "sys/io/clock.h"

/* A message that is not sent. sd-bus needs a started bus to make one. */
struct fixture {
        sd_bus *bus;
        int other;
};

static int setup(void **state)
{
        struct fixture *f = calloc(1, sizeof(*f));
        int ends[2];

        assert_non_null(f);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        f->other = ends[1];
        assert_int_equal(sd_bus_new(&f->bus), 0);
        assert_int_equal(sd_bus_set_fd(f->bus, ends[0], ends[0]), 0);
        assert_true(sd_bus_start(f->bus) >= 0);
        *state = f;
        return 0;
}

static int teardown(void **state)
{
        struct fixture *f = *state;

        sd_bus_close_unref(f->bus);
        (void) close(f->other);
        free(f);
        return 0;
}

static sd_bus_message *message_new(sd_bus *bus)
{
        sd_bus_message *m;

        assert_true(sd_bus_message_new_signal(bus, &m, "/", "a.b", "C") >= 0);
        return m;
}

static int parse(sd_bus_message *m, struct courses *ret)
{
        int r;

        assert_true(sd_bus_message_seal(m, 1, 0) >= 0);
        assert_true(sd_bus_message_rewind(m, true) >= 0);
        r = remote_parse(m, ret);
        sd_bus_message_unref(m);
        return r;
}

static void whole_course(void **state)
{
        _cleanup_(courses_done) struct courses courses = {};
        struct fixture *f = *state;
        sd_bus_message *m = message_new(f->bus);
        const struct course *d;

        assert_true(sd_bus_message_append(
                            m, "a" UASD_BUS_COURSE "a" UASD_BUS_COURSE_USER, 2, "2-2:1.0",
                            "settled", "", "verdict-bad", "bad", 1, "", "A lease.", -1, "", "", "",
                            (uint64_t) 0, (uint64_t) 0, "2-1:1.0", "waiting", "uas", "policy",
                            "good", 0, "dd: busy.", "", 7, "bind", "No.", "sda sdb", (uint64_t) 11,
                            (uint64_t) 12, 4, "2-1:1.0", "mount", "sdb1", "/mnt", "mnt:[7]", "sh",
                            7, "x.service", "2-1:1.0", "holder", "sdb1", "btrfs 1-2", "", "", 0, "",
                            "2-1:1.0", "holder", "sdb1", "dm-0", "", "", 0, "", "2-1:1.0", "mount",
                            "sdb1", "btrfs x", "", "", 0, "") >= 0);
        assert_int_equal(parse(m, &courses), 0);
        assert_int_equal(courses.n, 2);
        d = &courses.list[0];
        assert_int_equal(d->state, STATE_SETTLED);
        assert_int_equal(d->target, DRIVER_NONE);
        assert_int_equal(d->verdict, VERDICT_BAD);
        assert_true(d->cancelled);
        assert_null(d->inhibited);
        assert_string_equal(d->lease, "A lease.");
        assert_int_equal(d->outcome.code, -1);
        assert_string_equal(courses.list[0].reason_id, "verdict-bad");
        d = &courses.list[1];
        assert_string_equal(d->interface, "2-1:1.0");
        assert_int_equal(d->state, STATE_WAITING);
        assert_int_equal(d->target, DRIVER_UAS);
        assert_int_equal(d->verdict, VERDICT_GOOD);
        assert_false(d->cancelled);
        assert_string_equal(d->inhibited, "dd: busy.");
        assert_int_equal(d->outcome.code, 7);
        assert_string_equal(d->outcome.step, "bind");
        assert_string_equal(d->outcome.text, "No.");
        assert_string_equal(d->former, "sda sdb");
        assert_int_equal(d->since, 11);
        assert_int_equal(d->ends, 12);
        assert_int_equal(d->n_users, 4);
        assert_int_equal(d->users[0].kind, USER_MOUNT);
        assert_string_equal(d->users[0].where, "/mnt");
        assert_string_equal(d->users[0].namespace, "mnt:[7]");
        assert_string_equal(d->users[0].command, "sh");
        assert_int_equal(d->users[0].pid, 7);
        assert_string_equal(d->users[0].unit, "x.service");
        for (size_t i = 0; i < d->n_users; i++)
                assert_int_equal(d->users[i].btrfs, i == 1);
}

/* An invalid answer is rejected as a whole. */
static void nonsense(void **state)
{
        static const struct {
                const char *id, *state, *target, *verdict, *user, *of;
        } rows[] = {
                {"2-1:1.0", "dancing", "uas", "bad", "mount"},
                {"2-1:1.0", "", "uas", "bad", "mount"},
                {"2-1:1.0", "settled", "ub", "bad", "mount"},
                {"2-1:1.0", "settled", "uas", "so", "mount"},
                {"", "settled", "uas", "bad", "mount"},
                {"2-1:1.0", "settled", "uas", "bad", "me"},
                {"2-1:1.0", "settled", "uas", "bad", "mount", "2-2:1.0"},
        };
        struct fixture *f = *state;

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                sd_bus_message *m = message_new(f->bus);
                struct courses courses = {};

                assert_true(sd_bus_message_append(m, "a" UASD_BUS_COURSE "a" UASD_BUS_COURSE_USER,
                                                  1, rows[i].id, rows[i].state, rows[i].target,
                                                  "policy", rows[i].verdict, 0, "", "", -1, "", "",
                                                  "", (uint64_t) 0, (uint64_t) 0, 1,
                                                  rows[i].of ?: rows[i].id, rows[i].user, "sdb", "",
                                                  "", "", 0, "") >= 0);
                assert_int_equal(parse(m, &courses), -EBADMSG);
                assert_int_equal(courses.n, 0);
        }
}

static void another_answer(void **state)
{
        struct fixture *f = *state;
        sd_bus_message *m = message_new(f->bus);
        struct courses courses = {};

        assert_true(sd_bus_message_append(m, "as", 1, "2-1:1.0") >= 0);
        assert_int_equal(parse(m, &courses), -EBADMSG);
}

static int listen_at(char *ret_dir, char *ret_path, size_t size)
{
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        int fd;

        assert_non_null(mkdtemp(ret_dir));
        (void) snprintf(ret_path, size, "%s/private", ret_dir);
        (void) copy_string(address.sun_path, sizeof(address.sun_path), ret_path);
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_true(fd >= 0);
        assert_int_equal(bind(fd, (struct sockaddr *) &address, sizeof(address)), 0);
        assert_int_equal(listen(fd, 4), 0);
        return fd;
}

/* A stopped daemon: the kernel accepts the connection, and no answer comes. */
static void stopped(void **state)
{
        char dir[] = "/tmp/ctl-remote-XXXXXX", path[64];
        _cleanup_close_ int fd = listen_at(dir, path, sizeof(path));
        _cleanup_(remote_close) struct remote r = {};
        uint64_t start = now_boottime();
        struct courses views = {};

        assert_true(fd >= 0);
        assert_int_equal(remote_open(path, REMOTE_ORDER, true, 300 * USEC_PER_MSEC, &r, &views),
                         -ETIMEDOUT);
        assert_true(now_boottime() - start < patience(2 * USEC_PER_SEC));
        assert_null(r.bus);
        (void) unlink(path);
        (void) rmdir(dir);
}

static void nobody(void **state)
{
        struct remote r = {};
        struct courses views = {};

        assert_int_equal(
                remote_open("/nonexistent/private", REMOTE_ORDER, true, USEC_PER_SEC, &r, &views),
                -ENOTCONN);
        assert_int_equal(remote_open(NULL, REMOTE_ORDER, true, USEC_PER_SEC, &r, &views),
                         -ENETDOWN);
}

static const char *version; /* of the other side; NULL: it has none */

static const char *no_list; /* the error of ListDisks */

static int answer(sd_bus_message *m, void *data, sd_bus_error *e)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;

        if (version && sd_bus_message_is_method_call(m, "org.freedesktop.DBus.Properties", "Get"))
                return sd_bus_reply_method_return(m, "v", "s", version);
        if (no_list && sd_bus_message_is_method_call(m, UASD_BUS_MANAGER, "ListDisks"))
                return sd_bus_reply_method_errorf(m, no_list, "no");
        if (!sd_bus_message_is_method_call(m, UASD_BUS_MANAGER, "ListDisks"))
                return sd_bus_reply_method_errorf(m, UASD_BUS_ERROR_REFUSED, "no");
        if (sd_bus_message_new_method_return(m, &reply) < 0 ||
            sd_bus_message_append(reply, "a" UASD_BUS_COURSE "a" UASD_BUS_COURSE_USER, 1, "2-1:1.0",
                                  "settled", "uas", "policy", "good", 0, "", "", -1, "", "", "",
                                  (uint64_t) 0, (uint64_t) 0, 0) < 0)
                return -ENOMEM;
        return sd_bus_send(NULL, reply, NULL);
}

static void serve(int fd)
{
        sd_id128_t id = {.bytes = {1}};
        sd_bus *bus;
        int c = accept(fd, NULL, NULL);

        if (c < 0 || sd_bus_new(&bus) < 0 || sd_bus_set_fd(bus, c, c) < 0 ||
            sd_bus_set_server(bus, true, id) < 0 ||
            sd_bus_add_filter(bus, NULL, answer, NULL) < 0 || sd_bus_start(bus) < 0)
                _exit(1);
        for (;;) {
                int r = sd_bus_process(bus, NULL);

                if (r < 0)
                        _exit(0);
                if (r == 0)
                        (void) sd_bus_wait(bus, UINT64_MAX);
        }
}

static void peer_to_peer(void **state)
{
        char dir[] = "/tmp/ctl-remote-XXXXXX", path[64];
        _cleanup_close_ int fd = listen_at(dir, path, sizeof(path));
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_(remote_close) struct remote r = {};
        _cleanup_(courses_done) struct courses views = {}, again = {};
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0)
                serve(fd);
        assert_int_equal(remote_open(path, REMOTE_ORDER, true, 5 * USEC_PER_SEC, &r, &views), 0);
        assert_true(r.peer);
        assert_int_equal(views.n, 1);
        assert_int_equal(remote_read(&r, &again), 0);
        assert_int_equal(again.n, 1);
        assert_true(remote_call(&r, &(struct remote_call){"Cancel", "2-1:1.0"}, NULL, &error) < 0);
        assert_true(sd_bus_error_has_name(&error, UASD_BUS_ERROR_REFUSED));
        (void) kill(pid, SIGKILL);
        (void) waitpid(pid, NULL, 0);
        (void) unlink(path);
        (void) rmdir(dir);
}

/* ListDisks fails: it does not know it, or with other arguments, or it ends before it answers, or
 * nothing answers in its place. */
static void no_answer(void **state)
{
        static const struct {
                const char *error;
                int want;
        } rows[] = {
                {SD_BUS_ERROR_UNKNOWN_METHOD, -EBADMSG}, {SD_BUS_ERROR_INVALID_ARGS, -EBADMSG},
                {SD_BUS_ERROR_NO_REPLY, -ENOTCONN},      {SD_BUS_ERROR_SERVICE_UNKNOWN, -ENOTCONN},
                {SD_BUS_ERROR_TIMEOUT, -ETIMEDOUT},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                char dir[] = "/tmp/ctl-remote-XXXXXX", path[64];
                _cleanup_close_ int fd = listen_at(dir, path, sizeof(path));
                _cleanup_(remote_close) struct remote r = {};
                _cleanup_(courses_done) struct courses views = {};
                pid_t pid;

                no_list = rows[i].error;
                pid = fork();
                assert_true(pid >= 0);
                if (pid == 0)
                        serve(fd);
                /* On the bus, to which REMOTE_LOOK goes after -ENOTCONN, there is none either. */
                assert_int_equal(
                        remote_open(path, REMOTE_LOOK, false, 5 * USEC_PER_SEC, &r, &views),
                        rows[i].want);
                assert_null(r.bus);
                (void) kill(pid, SIGKILL);
                (void) waitpid(pid, NULL, 0);
                (void) unlink(path);
                (void) rmdir(dir);
        }
        no_list = NULL;
}

/* remote_ask_version() asks a daemon without a bus whose answer was not understood. It may report
 * none. */
static void version_of(void **state)
{
        static const char *const rows[] = {"0.0.1", "", NULL};
        char theirs[REMOTE_VERSION_MAX];

        assert_false(remote_ask_version(NULL, theirs));
        assert_false(remote_ask_version("/nonexistent/private", theirs));
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                char dir[] = "/tmp/ctl-remote-XXXXXX", path[64];
                _cleanup_close_ int fd = listen_at(dir, path, sizeof(path));
                pid_t pid;

                version = rows[i];
                pid = fork();
                assert_true(pid >= 0);
                if (pid == 0)
                        serve(fd);
                assert_int_equal(remote_ask_version(path, theirs), i == 0);
                if (i == 0)
                        assert_string_equal(theirs, rows[i]);
                (void) kill(pid, SIGKILL);
                (void) waitpid(pid, NULL, 0);
                (void) unlink(path);
                (void) rmdir(dir);
        }
        version = NULL;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(whole_course),          TEST(nonsense),
                TEST(another_answer),        cmocka_unit_test(stopped),
                cmocka_unit_test(nobody),    cmocka_unit_test(peer_to_peer),
                cmocka_unit_test(no_answer), cmocka_unit_test(version_of),
        };

        /* No test connects to the bus of this machine. */
        (void) setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent/bus", 1);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
