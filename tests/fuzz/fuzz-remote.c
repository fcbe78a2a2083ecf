/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Messages of uasd, which may be of another version. libsystemd
 * checks their form; the test makes well-formed messages whose types, names, values and nesting
 * come from the input. Lines of a text: each opens or closes a container, or is a value.
 */
#include "client/remote-parse.h"
#include "client/remote.h"

#include <sys/socket.h>

#include "common/names.h"
#include "fuzz.h"

static sd_bus *bus;

/* sd-bus needs a started bus to make a message, which is not sent. */
static void bus_make(void)
{
        int ends[2];

        if (bus)
                return;
        CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
        CHECK(sd_bus_new(&bus) == 0);
        CHECK(sd_bus_set_fd(bus, ends[0], ends[0]) == 0);
        CHECK(sd_bus_start(bus) >= 0);
}

static void put_number(sd_bus_message *m, char type, const char *value)
{
        uint64_t v = strtoull(value, NULL, 10);

        (void) sd_bus_message_append_basic(
                m, type, &v); /* all numbers are little-endian here, and a part of it */
}

/*
 * "(CONTENTS", "{CONTENTS", "[CONTENTS" and "<CONTENTS" open a struct, an entry of a dictionary, an
 * array and a variant; ")" closes. Otherwise the first character is a type, and the rest its value.
 * sd-bus refuses what does not fit, so such a line has no effect.
 */
static void put_line(sd_bus_message *m, const char *line)
{
        static const char opening[] = "({[<", types[] = "reav";
        const char *which = *line ? strchr(opening, *line) : NULL;

        if (which)
                (void) sd_bus_message_open_container(m, types[which - opening], line + 1);
        else if (*line == ')')
                (void) sd_bus_message_close_container(m);
        else if (*line == 's' || *line == 'o' || *line == 'g')
                (void) sd_bus_message_append_basic(m, *line, line + 1);
        else if (*line && strchr("ybnqiuxt", *line))
                put_number(m, *line, line + 1);
}

/* As the client uses the courses of disks. */
static void check_course(struct course *course)
{
        _cleanup_(view_done) struct view v = {};
        char text[1024];

        CHECK(course->interface[0] && strlen(course->interface) < sizeof(course->interface) &&
              strlen(course->reason_id) < sizeof(course->reason_id));
        CHECK(course->state < _STATE_MAX && course->target < _DRIVER_MAX &&
              course->verdict < _VERDICT_MAX);
        for (size_t i = 0; i < course->n_users; i++) {
                CHECK(course->users[i].kind < _USER_KIND_MAX);
                (void) user_text(course->users + i, text, sizeof(text));
        }
        view_take_course(&v, course, true);
        view_describe(&v);
        (void) view_why(&v);
        (void) view_target(&v);
}

static int parse_courses(sd_bus_message *m)
{
        _cleanup_(courses_done) struct courses courses = {};
        int r = remote_parse(m, &courses);

        for (size_t i = 0; i < courses.n; i++)
                check_course(courses.list + i);
        CHECK(r >= 0 || courses.n == 0);
        return r;
}

static int parse_step(sd_bus_message *m)
{
        struct job_step s = {};
        int r = remote_parse_step(m, &s);

        CHECK(strlen(s.disk) < sizeof(s.disk) && strlen(s.state) < sizeof(s.state) &&
              strlen(s.step) < sizeof(s.step));
        return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        char *text = fuzz_text(data, size), *rest = text, *line;
        sd_bus_message *m = NULL;

        bus_make();
        CHECK(sd_bus_message_new_signal(bus, &m, "/", "a.b", "C") >= 0);
        while ((line = fuzz_field(&rest, '\n')))
                put_line(m, line);
        if (sd_bus_message_seal(m, 1, 0) >= 0) /* not with an open container */
                for (unsigned way = 0; way < 2; way++) {
                        CHECK(sd_bus_message_rewind(m, true) >= 0);
                        (void) (way == 0 ? parse_courses(m) : parse_step(m));
                }
        sd_bus_message_unref(m);
        free(text);
        return 0;
}
