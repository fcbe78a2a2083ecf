/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "common/util.h"

/*
 * A logind that suspends no machine. Prints "ready", "inhibit WHAT MODE" for each inhibitor, and
 * "released" when all copies of its descriptor are closed. A line on stdin is an order: "sleep" and
 * "wake" send PrepareForSleep. Between them it grants no inhibitor.
 */

#define NAME "org.freedesktop.login1"
#define PATH "/org/freedesktop/login1"
#define MANAGER NAME ".Manager"

static sd_event *event;
static sd_bus *bus;
static bool sleeping;

static int on_released(sd_event_source *s, int fd, uint32_t revents, void *data)
{
        puts("released");
        sd_event_source_disable_unref(s);
        return close(fd) < 0;
}

static int on_inhibit(sd_bus_message *m, void *data, sd_bus_error *e)
{
        const char *what, *who, *why, *mode;
        int pipe_fd[2], r = sd_bus_message_read(m, "ssss", &what, &who, &why, &mode);

        if (r < 0)
                return r;
        if (sleeping)
                return sd_bus_error_set(e, NAME ".OperationInProgress",
                                        "The operation is already in progress");
        if (pipe2(pipe_fd, O_CLOEXEC) < 0)
                return -errno;
        printf("inhibit %s %s\n", what, mode);
        r = sd_event_add_io(event, NULL, pipe_fd[0], EPOLLHUP, on_released, NULL);
        if (r >= 0)
                r = sd_bus_reply_method_return(m, "h", pipe_fd[1]);
        (void) close(pipe_fd[1]);
        return r;
}

static const sd_bus_vtable manager[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_METHOD("Inhibit", "ssss", "h", on_inhibit, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_SIGNAL("PrepareForSleep", "b", 0),
        SD_BUS_VTABLE_END,
};

static int on_line(sd_event_source *s, int fd, uint32_t revents, void *data)
{
        char line[32];

        if (!fgets(line, sizeof(line), stdin))
                return sd_event_exit(event, 0);
        sleeping = streq(line, "sleep\n");
        return sd_bus_emit_signal(bus, PATH, MANAGER, "PrepareForSleep", "b", sleeping);
}

int main(void)
{
        (void) setvbuf(stdout, NULL, _IOLBF, 0);
        (void) setvbuf(stdin, NULL, _IONBF, 0);
        if (sd_event_default(&event) < 0 || sd_bus_open_system(&bus) < 0 ||
            sd_bus_attach_event(bus, event, 0) < 0 ||
            sd_bus_add_object_vtable(bus, NULL, PATH, MANAGER, manager, NULL) < 0 ||
            sd_event_add_io(event, NULL, STDIN_FILENO, EPOLLIN, on_line, NULL) < 0 ||
            sd_bus_request_name(bus, NAME, 0) < 0)
                return 1;
        puts("ready");
        return sd_event_loop(event) < 0;
}
