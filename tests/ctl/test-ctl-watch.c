/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The client takes each signal of uasd, which a process plays. */
#include "../patience.h"
#include "samples.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "client/remote.h"
#include "client/watch.h"
#include "common/names.h"
#include "sys/io/clock.h"

#define OURS "2-2:1.0" /* the disk of on_step */
#define JOB UASD_BUS_PATH "/job/1"

/* A signal of uasd, and what there is from then on. */
struct step {
        enum { ADDED, REMOVED, CHANGED, JOB_STEP, JOB_ENDED } type;
        const char *id, *word, *more; /* a state, and that from then on, or the step of a job */
        const char *disks;            /* the numbers of the ports of the present disks */
        const char *want;             /* what the client reports */
};

static const struct step steps[] = {
        {ADDED, OURS, "waiting", NULL, "12", "added 2-2:1.0 waiting\n"},
        {CHANGED, OURS, "held", NULL, "12", "changed 2-2:1.0 held\n"},
        /* It is in another state already, or gone. The signal of that follows. */
        {CHANGED, OURS, "switching", "trial", "12", "changed 2-2:1.0 switching\n"},
        {CHANGED, OURS, "failed", NULL, "1", "changed 2-2:1.0 failed\n"},
        /* Not understood: all are read again. */
        {CHANGED, OURS, "dancing", "held", "123",
         "changed 2-1:1.0 settled\nchanged 2-2:1.0 held\nadded 2-3:1.0 settled\n"},
        {CHANGED, OURS, "dancing", "held", "23",
         "removed 2-1:1.0 settled\nchanged 2-2:1.0 held\nchanged 2-3:1.0 settled\n"},
        {ADDED, "2-1:1.0", NULL, NULL, "123", "added 2-1:1.0 settled\n"},
        {CHANGED, "2-9:1.0", "held", NULL, "123", ""},
        /* The client has missed the first signal of this disk. */
        {CHANGED, "2-4:1.0", "settled", NULL, "24", "added 2-4:1.0 settled\n"},
        {REMOVED, "2-4:1.0", NULL, NULL, "2", "removed 2-4:1.0 settled\n"},
        {REMOVED, "2-4:1.0", NULL, NULL, "2", ""},
        {REMOVED, "2-3:1.0", NULL, NULL, "2", "removed 2-3:1.0 settled\n"},
        {REMOVED, "2-1:1.0", NULL, NULL, "2", "removed 2-1:1.0 settled\n"},
        {JOB_STEP, OURS, "running", "unbind", "2", "step 2-2:1.0 unbind\n"},
        {JOB_STEP, OURS, "done", "unbind", "2", "step 2-2:1.0 \n"},
        {JOB_STEP, "2-1:1.0", "running", "unbind", "2", ""},
        {JOB_ENDED, UASD_BUS_PATH "/job/2", "other", "bind", "2", ""},
        {JOB_ENDED, JOB, "It did not come back.", "bind", "2",
         "ended 7 bind: It did not come back.\n"},
};

/* ---- the process that plays uasd ---- */

static const struct step *present = &(const struct step){.disks = "1"};

static int append_present(sd_bus_message *m)
{
        int r = sd_bus_message_open_container(m, 'a', UASD_BUS_COURSE);

        for (const char *port = present->disks; r >= 0 && *port; port++) {
                char id[] = "2-?:1.0";
                bool named;

                id[2] = *port;
                named = present->id && streq(id, present->id) && present->word;
                r = sd_bus_message_append(m, UASD_BUS_COURSE, id,
                                          named ? present->more ?: present->word : "settled", "",
                                          "fastest", "good", 0, "", "", -1, "", "", "",
                                          (uint64_t) 0, (uint64_t) 0);
        }
        if (r >= 0)
                r = sd_bus_message_close_container(m);
        return r < 0 ? r : sd_bus_message_append(m, "a" UASD_BUS_COURSE_USER, 0);
}

static int send_signal(sd_bus *bus)
{
        static const char *const names[] = {"InterfacesAdded", "InterfacesRemoved",
                                            "PropertiesChanged", "PropertiesChanged", "JobRemoved"};
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;
        _cleanup_free_ char *path = NULL;
        bool properties = present->type == CHANGED || present->type == JOB_STEP;
        int r;

        if (present->type != JOB_ENDED &&
            sd_bus_path_encode(UASD_BUS_PATH "/disk", present->id, &path) < 0)
                return -ENOMEM;
        r = sd_bus_message_new_signal(bus, &m,
                                      !properties                ? UASD_BUS_PATH
                                      : present->type == CHANGED ? path
                                                                 : JOB,
                                      properties ? "org.freedesktop.DBus.Properties"
                                      : present->type == JOB_ENDED
                                              ? UASD_BUS_MANAGER
                                              : "org.freedesktop.DBus.ObjectManager",
                                      names[present->type]);
        if (r < 0)
                return r;
        switch (present->type) {
        case ADDED:
                r = sd_bus_message_append(m, "oa{sa{sv}}", path, 0);
                break;
        case REMOVED:
                r = sd_bus_message_append(m, "oas", path, 1, UASD_BUS_DISK);
                break;
        case CHANGED:
                r = sd_bus_message_append(m, "sa{sv}as", UASD_BUS_DISK, 1, "State", "s",
                                          present->word, 0);
                break;
        case JOB_STEP:
                r = sd_bus_message_append(m, "sa{sv}as", UASD_BUS_JOB, 3, "Disk", "s", present->id,
                                          "State", "s", present->word, "Step", "s", present->more,
                                          0);
                break;
        case JOB_ENDED:
                r = sd_bus_message_append(m, "osiss", present->id, OURS, 7, present->more,
                                          present->word);
                break;
        }
        return r < 0 ? r : sd_bus_send(bus, m, NULL);
}

static int on_call(sd_bus_message *m, void *data, sd_bus_error *e)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        sd_bus *bus = sd_bus_message_get_bus(m);
        uint32_t n;
        int r = sd_bus_message_new_method_return(m, &reply);

        if (sd_bus_message_is_method_call(m, NULL, "ListDisks"))
                r = append_present(reply);
        else if (r >= 0 && (r = sd_bus_message_read(m, "u", &n)) >= 0) {
                present = steps + n;
                r = send_signal(bus);
        }
        return r < 0 ? r : sd_bus_send(bus, reply, NULL);
}

static void play(int fd)
{
        sd_id128_t id = {.bytes = {1}};
        sd_bus *bus;

        if (sd_bus_new(&bus) < 0 || sd_bus_set_fd(bus, fd, fd) < 0 ||
            sd_bus_set_server(bus, true, id) < 0 ||
            sd_bus_add_filter(bus, NULL, on_call, NULL) < 0 || sd_bus_start(bus) < 0)
                _exit(1);
        for (;;) {
                int r = sd_bus_process(bus, NULL);

                if (r < 0)
                        _exit(0);
                if (r == 0)
                        (void) sd_bus_wait(bus, UINT64_MAX);
        }
}

/* ---- the client ---- */

int __wrap_local_refresh(const struct roots *roots, struct remote *remote, struct views *ret);

/* The kernel has the disks that uasd has. */
int __wrap_local_refresh(const struct roots *roots, struct remote *remote, struct views *ret)
{
        _cleanup_(courses_done) struct courses courses = {};
        int r = remote_read(remote, &courses);

        if (r < 0)
                return r;
        *ret = (struct views){};
        for (size_t i = 0; i < courses.n; i++) {
                struct view v = sample_view(courses.list[i].interface, NULL, "");

                view_take_course(&v, &courses.list[i], true);
                views_add(ret, &v);
        }
        return 0;
}

struct fixture {
        struct remote remote;
        struct daemon_watch watch;
        pid_t uasd;
        char told[1024];
};

static int setup(void **state)
{
        struct fixture *f = calloc(1, sizeof(*f));
        int ends[2];

        assert_non_null(f);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends),
                         0);
        f->uasd = fork();
        assert_true(f->uasd >= 0);
        if (f->uasd == 0) {
                (void) close(ends[0]);
                play(ends[1]);
        }
        (void) close(ends[1]);
        f->remote.peer = true;
        assert_true(sd_bus_new(&f->remote.bus) >= 0);
        assert_true(sd_bus_set_fd(f->remote.bus, ends[0], ends[0]) >= 0);
        assert_true(sd_bus_start(f->remote.bus) >= 0);
        f->watch = DAEMON_WATCH_NULL;
        *state = f;
        return 0;
}

static int teardown(void **state)
{
        struct fixture *f = *state;

        daemon_watch_close(&f->watch);
        remote_close(&f->remote);
        (void) kill(f->uasd, SIGKILL);
        (void) waitpid(f->uasd, NULL, 0);
        free(f);
        return 0;
}

static void on_disk(const struct view *v, enum disk_event e, void *data)
{
        static const char *const words[] = {"present", "added", "changed", "removed"};
        struct fixture *f = data;

        text_add(f->told, sizeof(f->told), "%s %s %s\n", words[e], v->disk.facts.interface,
                 state_to_string(v->disk.state));
}

static void on_step(const char *disk, const char *step, void *data)
{
        struct fixture *f = data;

        text_add(f->told, sizeof(f->told), "step %s %s\n", disk, step);
}

/* Takes all that has come. */
static void take(struct fixture *f)
{
        struct daemon_watch *w = &f->watch;
        int r;

        while ((r = daemon_watch_next(w, 0)) == 0) {
                assert_true(w->changed || w->ended);
                if (w->ended)
                        text_add(f->told, sizeof(f->told), "ended %i %s: %s\n", w->outcome.code,
                                 w->outcome.step, w->outcome.text);
                w->changed = w->ended = false;
        }
        assert_int_equal(r, -ETIMEDOUT);
}

static void signals(void **state)
{
        struct fixture *f = *state;
        struct daemon_watch *w = &f->watch;

        w->on_disk = on_disk;
        w->on_step = on_step;
        w->data = f;
        w->disk = OURS;
        w->job = JOB;
        assert_int_equal(daemon_watch_open(w, NULL, &f->remote), 0);
        assert_false(w->changed);
        assert_string_equal(f->told, "present 2-1:1.0 settled\n");
        for (uint32_t i = 0; i < ELEMENTSOF(steps); i++) {
                f->told[0] = '\0';
                assert_true(sd_bus_call_method(f->remote.bus, UASD_BUS_NAME, UASD_BUS_PATH,
                                               UASD_BUS_MANAGER, "Step", NULL, NULL, "u", i) >= 0);
                take(f);
                if (!streq(f->told, steps[i].want))
                        fail_msg("step %u: '%s', not '%s'", i, f->told, steps[i].want);
        }
        assert_int_equal(w->disks.n, 1);
        assert_int_equal(daemon_watch_refresh(w), 0);
        assert_true(w->changed);
}

/* Without callbacks only the disks are kept. */
static void silent(void **state)
{
        struct fixture *f = *state;

        assert_int_equal(daemon_watch_open(&f->watch, NULL, &f->remote), 0);
        assert_true(sd_bus_call_method(f->remote.bus, UASD_BUS_NAME, UASD_BUS_PATH,
                                       UASD_BUS_MANAGER, "Step", NULL, NULL, "u", 0) >= 0);
        take(f);
        assert_int_equal(f->watch.disks.n, 2);
        assert_int_equal(f->watch.disks.list[1].disk.state, STATE_WAITING);
}

/* The end of a wait: at its time and not before, when the reader has gone, and when uasd has. */
static void end_of_wait(void **state)
{
        struct fixture *f = *state;
        uint64_t begin, limit = 150 * USEC_PER_MSEC;
        int pipe_ends[2];

        assert_int_equal(daemon_watch_open(&f->watch, NULL, &f->remote), 0);
        begin = now_boottime();
        assert_int_equal(daemon_watch_next(&f->watch, begin + limit), -ETIMEDOUT);
        assert_in_range(now_boottime() - begin, limit, limit + patience(2 * USEC_PER_SEC));
        assert_int_equal(pipe2(pipe_ends, O_CLOEXEC), 0);
        f->watch.hangup_fd = pipe_ends[1];
        assert_int_equal(daemon_watch_next(&f->watch, now_boottime() + 1), -ETIMEDOUT);
        (void) close(pipe_ends[0]);
        assert_int_equal(daemon_watch_next(&f->watch, UINT64_MAX), -EPIPE);
        (void) close(pipe_ends[1]);
        f->watch.hangup_fd = -1;
        (void) kill(f->uasd, SIGKILL);
        assert_in_range(-daemon_watch_next(&f->watch, now_boottime() + patience(5 * USEC_PER_SEC)),
                        1, ETIMEDOUT - 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {TEST(signals), TEST(silent), TEST(end_of_wait)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
