/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <poll.h>
#include <sys/socket.h>

#include "common/names.h"
#include "common/util.h"
#include "daemon/bus/methods.h"

/*
 * Prints org.uasd1.xml: what sd-bus answers about the interfaces of uasd. The build runs it. Both
 * ends of the connection are in this process.
 */

#define OURS " <interface name=\"org.uasd1."

static int introspect_on_answer(sd_bus_message *reply, void *data, sd_bus_error *error)
{
        const char *text, *ours;

        *(bool *) data = true;
        if (sd_bus_message_is_method_error(reply, NULL) ||
            sd_bus_message_read(reply, "s", &text) < 0)
                return 0;
        ours = strstr(text, OURS);
        if (ours) /* sd-bus puts the interfaces that every object has before them */
                printf("%.*s%s", (int) (strstr(text, " <interface") - text), text, ours);
        return 0;
}

static int introspect_bus(int fd, bool server, sd_bus **ret)
{
        _cleanup_(sd_bus_unrefp) sd_bus *bus = NULL;
        int r;

        r = sd_bus_new(&bus);
        if (r < 0)
                return r;
        r = sd_bus_set_fd(bus, fd, fd);
        if (r < 0)
                return r;
        if (server) {
                r = sd_bus_set_server(bus, true, SD_ID128_NULL);
                if (r < 0)
                        return r;
                r = bus_interfaces_add(bus);
                if (r < 0)
                        return r;
        }
        r = sd_bus_start(bus);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(bus);
        return 0;
}

static int introspect(void)
{
        _cleanup_(sd_bus_unrefp) sd_bus *server = NULL, *client = NULL;
        bool answered = false;
        int ends[2], r;

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
                return -errno;
        r = introspect_bus(ends[0], true, &server);
        if (r < 0)
                return r;
        r = introspect_bus(ends[1], false, &client);
        if (r < 0)
                return r;
        r = sd_bus_call_method_async(client, NULL, NULL, UASD_BUS_PATH,
                                     "org.freedesktop.DBus.Introspectable", "Introspect",
                                     introspect_on_answer, &answered, NULL);
        while (r >= 0 && !answered) {
                struct pollfd both[] = {{ends[0], POLLIN}, {ends[1], POLLIN}};

                r = sd_bus_process(server, NULL);
                if (r == 0)
                        r = sd_bus_process(client, NULL);
                if (r == 0)
                        r = poll(both, ELEMENTSOF(both), 1000);
        }
        return r;
}

int main(void)
{
        int r = introspect();

        if (r < 0)
                (void) fprintf(stderr, "cannot introspect uasd: %s\n", strerror(-r));
        return r < 0 || fflush(stdout) != 0;
}
