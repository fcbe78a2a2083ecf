/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "common/util.h"

/*
 * A slow polkit, like one that asks for a password. Prints "ready", and "ACTION DISK" for each
 * question; with " silent" if it may not ask the user. When it reads "yes", "no", "challenge" (a
 * password is needed) or "garble" (a type that polkit never returns), it answers all open
 * questions.
 */

#define OPEN_MAX 256

static sd_bus_message *open_questions[OPEN_MAX];
static size_t n_open;

static int on_question(sd_bus_message *m, void *data, sd_bus_error *e)
{
        const char *action, *key, *disk;
        uint32_t flags;
        int r = sd_bus_message_skip(m, "(sa{sv})");

        if (r >= 0)
                r = sd_bus_message_read(m, "sa{ss}u", &action, 1, &key, &disk, &flags);
        if (r < 0)
                return r;
        if (n_open == OPEN_MAX)
                return -ENOBUFS;
        open_questions[n_open++] = sd_bus_message_ref(m);
        printf("%s %s%s\n", action, disk, flags == 1 ? "" : " silent");
        return 1;
}

/* Comes before the vtable, with which sd-bus would send no answer of another type. */
static int on_any(sd_bus_message *m, void *data, sd_bus_error *e)
{
        if (!sd_bus_message_is_method_call(m, NULL, "CheckAuthorization"))
                return 0;
        return on_question(m, data, e);
}

static int on_line(sd_event_source *s, int fd, uint32_t revents, void *data)
{
        char line[16];
        ssize_t n = read(fd, line, sizeof(line));

        if (n <= 0)
                return sd_event_exit(sd_event_source_get_event(s), 0);
        while (n_open > 0) {
                sd_bus_message *m = open_questions[--n_open];

                if (line[0] == 'g')
                        (void) sd_bus_reply_method_return(m, "b", true);
                else
                        (void) sd_bus_reply_method_return(m, "(bba{ss})", line[0] == 'y',
                                                          line[0] == 'c', 0);
                sd_bus_message_unref(m);
        }
        return 0;
}

static const sd_bus_vtable authority[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_METHOD("CheckAuthorization", "(sa{sv})sa{ss}us", "(bba{ss})", on_question,
                      SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_VTABLE_END,
};

int main(void)
{
        sd_event *event = NULL;
        sd_bus *bus = NULL;

        setvbuf(stdout, NULL, _IOLBF, 0);
        if (sd_event_default(&event) < 0 || sd_bus_open_system(&bus) < 0 ||
            sd_bus_attach_event(bus, event, 0) < 0 ||
            sd_bus_add_filter(bus, NULL, on_any, NULL) < 0 ||
            sd_bus_add_object_vtable(bus, NULL, "/org/freedesktop/PolicyKit1/Authority",
                                     "org.freedesktop.PolicyKit1.Authority", authority, NULL) < 0 ||
            sd_event_add_io(event, NULL, STDIN_FILENO, EPOLLIN, on_line, NULL) < 0 ||
            sd_bus_request_name(bus, "org.freedesktop.PolicyKit1", 0) < 0)
                return 1;
        puts("ready");
        return sd_event_loop(event) < 0;
}
