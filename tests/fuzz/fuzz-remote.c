/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Messages of uasd on another machine, which may be of another version, or hostile. libsystemd
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

/* As the client uses the disks. */
static void check_view(const struct view *v)
{
        const struct facts *f = &v->disk.facts;
        char text[1024];

        CHECK(f->interface[0] && strlen(f->interface) < sizeof(f->interface) &&
              strlen(f->serial) < sizeof(f->serial));
        CHECK(strlen(v->reason) < sizeof(v->reason) && strlen(v->history) < sizeof(v->history));
        CHECK(v->disk.state < _STATE_MAX && f->policy < _POLICY_MAX && f->driver < _DRIVER_MAX &&
              f->verdict < _VERDICT_MAX);
        (void) view_label(v, text);
        (void) view_block_names(v, text, sizeof(text));
        (void) view_product(v, text, sizeof(text));
        (void) view_why(v);
        (void) view_target(v);
        for (size_t i = 0; i < v->disk.n_users; i++) {
                CHECK(v->disk.users[i].kind < _USER_KIND_MAX);
                (void) user_text(v->disk.users + i, text, sizeof(text));
        }
}

static int parse_views(sd_bus_message *m, int (*by)(sd_bus_message *m, struct views *ret))
{
        _cleanup_(views_done) struct views views = {};
        int r = by(m, &views);

        for (size_t i = 0; i < views.n; i++)
                check_view(views.list + i);
        CHECK(r >= 0 || views.n == 0);
        return r;
}

static int parse_added(sd_bus_message *m)
{
        _cleanup_(view_done) struct view v = {};
        int r = remote_parse_added(m, &v);

        if (r > 0)
                check_view(&v);
        return r;
}

static int parse_changed(sd_bus_message *m)
{
        _cleanup_(view_done) struct view v = {.disk.facts.interface = "2-1:1.0"};
        int r = remote_parse_changed(m, &v);

        if (r >= 0)
                check_view(&v);
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
                for (unsigned way = 0; way < 5; way++) {
                        CHECK(sd_bus_message_rewind(m, true) >= 0);
                        (void) (way == 0   ? parse_views(m, remote_parse)
                                : way == 1 ? parse_views(m, remote_parse_brief)
                                : way == 2 ? parse_added(m)
                                : way == 3 ? parse_changed(m)
                                           : parse_step(m));
                }
        sd_bus_message_unref(m);
        free(text);
        return 0;
}
