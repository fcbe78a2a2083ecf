/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fnmatch.h>
#include <inttypes.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "common/util.h"

/*
 * A PID 1 that stays busy until a test lets it answer. It listens at argv[1], and prints "ready"
 * and each call. A line on stdin is an order. "state WORD" sets SystemState. "loaded USEC" sets the
 * time at which the units were loaded, "array USEC" the end of a timer of mdadm. "unit NAME JOB
 * TIMEOUT RUNNING" adds an inactive unit with the id of its job and its two timeouts in usec.
 * "refuse N" answers the N-th call with an error, "garble N" with a type that no method returns.
 * "answer" serves all present and future connections. "finished" sends StartupFinished. "job" ends
 * the last job that was begun. RestartUnit makes a unit active. "hang up" closes all connections.
 * To a client of a bus it is the bus, too.
 */

#define PEERS_MAX 16
#define MANAGER "org.freedesktop.systemd1.Manager"
#define TIMER "org.freedesktop.systemd1.Timer"
#define UNIT "org.freedesktop.systemd1.Unit"
#define PATH "/org/freedesktop/systemd1"
#define ARRAY PATH "/unit/array"
#define UNITS_MAX 4

static sd_event *event;
static sd_bus *peers[PEERS_MAX];
static sd_event_source *listening;
static char state[32] = "starting";
static uint64_t loaded, array; /* 0: the property or unit does not exist */
static struct unit {
        char name[48], path[64];
        uint32_t job;
        uint64_t job_timeout, running_timeout;
        bool active;
} units[UNITS_MAX];
static size_t n_units;
static char started[48];                        /* the unit of the last job that was begun */
static unsigned long n_calls, refused, garbled; /* 0: none */

/* The Hello of a bus is no call. */
static int on_any(sd_bus_message *m, void *data, sd_bus_error *e)
{
        if (!sd_bus_message_is_method_call(m, NULL, NULL) ||
            sd_bus_message_is_method_call(m, NULL, "Hello"))
                return 0;
        n_calls++;
        if (n_calls == refused)
                return sd_bus_reply_method_errorf(m, SD_BUS_ERROR_FAILED, "refused");
        return n_calls == garbled ? sd_bus_reply_method_return(m, "b", 1) : 0;
}

static int on_call(sd_bus_message *m, void *data, sd_bus_error *e)
{
        puts(sd_bus_message_get_member(m));
        return sd_bus_reply_method_return(m, NULL);
}

static int job_removed(sd_bus *bus, uint32_t id, const char *unit)
{
        char job[64];

        (void) snprintf(job, sizeof(job), PATH "/job/%u", id);
        return sd_bus_emit_signal(bus, PATH, MANAGER, "JobRemoved", "uoss", id, job, unit, "done");
}

/* Another job ends at once, this one when the test orders it. */
static int on_unit(sd_bus_message *m, void *data, sd_bus_error *e)
{
        const char *unit;
        int r = sd_bus_message_read(m, "s", &unit);

        if (r < 0)
                return r;
        printf("%s %s\n", sd_bus_message_get_member(m), unit);
        (void) copy_string(started, sizeof(started), unit);
        for (size_t i = 0; i < n_units; i++)
                if (sd_bus_message_is_method_call(m, NULL, "RestartUnit") &&
                    streq(units[i].name, unit))
                        units[i].active = true;
        r = sd_bus_reply_method_return(m, "o", PATH "/job/1");
        return r < 0 ? r : job_removed(sd_bus_message_get_bus(m), 2, "x.service");
}

static int on_state(sd_bus *bus, const char *path, const char *interface, const char *property,
                    sd_bus_message *reply, void *data, sd_bus_error *e)
{
        puts(property);
        return sd_bus_message_append(reply, "s", state);
}

static int on_loaded(sd_bus *bus, const char *path, const char *interface, const char *property,
                     sd_bus_message *reply, void *data, sd_bus_error *e)
{
        return loaded ? sd_bus_message_append(reply, "t", loaded) : -EIO;
}

static bool wants(char **list, const char *word)
{
        for (; *list; list++)
                if (fnmatch(*list, word, 0) == 0)
                        return true;
        return false;
}

static int add_unit(sd_bus_message *reply, char **patterns, const char *name, const char *active,
                    const char *path, uint32_t job)
{
        char of_job[64] = "/";

        if (job > 0)
                (void) snprintf(of_job, sizeof(of_job), PATH "/job/%u", job);
        return wants(patterns, name)
                       ? sd_bus_message_append(reply, "(ssssssouso)", name, "", "loaded", active,
                                               "", "", path, job, job > 0 ? "start" : "", of_job)
                       : 0;
}

static void free_list(char ***list)
{
        for (char **word = *list; word && *word; word++)
                free(*word);
        free(*list);
}

static int on_list(sd_bus_message *m, void *data, sd_bus_error *e)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        _cleanup_(free_list) char **states = NULL, **patterns = NULL;
        int r = sd_bus_message_read_strv(m, &states);

        if (r >= 0)
                r = sd_bus_message_read_strv(m, &patterns);
        if (r >= 0)
                r = sd_bus_message_new_method_return(m, &reply);
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'a', "(ssssssouso)");
        if (r < 0)
                return r;
        printf("%s", sd_bus_message_get_member(m));
        for (size_t i = 0; i < 2; i++)
                for (char **word = i ? patterns : states; *word; word++)
                        printf(" %s", *word);
        puts("");
        if (array && wants(states, "active"))
                r = add_unit(reply, patterns, "mdadm-last-resort@md0.timer", "active", ARRAY, 0);
        for (size_t i = 0; r >= 0 && i < n_units; i++) {
                const char *active = units[i].active ? "active" : "inactive";

                if (wants(states, active))
                        r = add_unit(reply, patterns, units[i].name, active, units[i].path,
                                     units[i].job);
        }
        if (r >= 0)
                r = sd_bus_message_close_container(reply);
        return r < 0 ? r : sd_bus_send(NULL, reply, NULL);
}

static int on_timeout(sd_bus *bus, const char *path, const char *interface, const char *property,
                      sd_bus_message *reply, void *data, sd_bus_error *e)
{
        for (size_t i = 0; i < n_units; i++)
                if (streq(units[i].path, path))
                        return sd_bus_message_append(reply, "t",
                                                     streq(property, "JobTimeoutUSec")
                                                             ? units[i].job_timeout
                                                             : units[i].running_timeout);
        return -ENOENT;
}

static int on_elapse(sd_bus *bus, const char *path, const char *interface, const char *property,
                     sd_bus_message *reply, void *data, sd_bus_error *e)
{
        return sd_bus_message_append(reply, "t", array);
}

static const sd_bus_vtable timer[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("NextElapseUSecMonotonic", "t", on_elapse, 0, 0),
        SD_BUS_VTABLE_END,
};

static const sd_bus_vtable timeouts[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("JobTimeoutUSec", "t", on_timeout, 0, 0),
        SD_BUS_PROPERTY("JobRunningTimeoutUSec", "t", on_timeout, 0, 0),
        SD_BUS_VTABLE_END,
};

static const sd_bus_vtable manager[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_METHOD("Subscribe", NULL, NULL, on_call, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD("RestartUnit", "ss", "o", on_unit, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD("StartUnit", "ss", "o", on_unit, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD("ListUnitsByPatterns", "asas", "a(ssssssouso)", on_list,
                      SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_SIGNAL("JobRemoved", "uoss", 0),
        SD_BUS_SIGNAL("StartupFinished", "tttttt", 0),
        SD_BUS_PROPERTY("SystemState", "s", on_state, 0, 0),
        SD_BUS_PROPERTY("UnitsLoadFinishTimestampMonotonic", "t", on_loaded, 0, 0),
        SD_BUS_VTABLE_END,
};

static int is_unit(sd_bus *bus, const char *path, const char *interface, void *data, void **found,
                   sd_bus_error *e)
{
        for (size_t i = 0; i < n_units; i++)
                if (streq(units[i].path, path))
                        return 1;
        return 0;
}

static int on_hello(sd_bus_message *m, void *data, sd_bus_error *e)
{
        return sd_bus_reply_method_return(m, "s", ":1.1");
}

static const sd_bus_vtable driver[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_METHOD("Hello", NULL, "s", on_hello, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_VTABLE_END,
};

static sd_bus *serve(int fd)
{
        sd_bus *bus = NULL;

        if (sd_bus_new(&bus) < 0)
                return NULL;
        if (sd_bus_set_fd(bus, fd, fd) >= 0 &&
            sd_bus_set_server(bus, 1,
                              SD_ID128_MAKE(1, 2, 3, 4, 5, 6, 7, 8, 9, a, b, c, d, e, f, 0)) >= 0 &&
            sd_bus_start(bus) >= 0 && sd_bus_add_filter(bus, NULL, on_any, NULL) >= 0 &&
            sd_bus_add_object_vtable(bus, NULL, PATH, MANAGER, manager, NULL) >= 0 &&
            sd_bus_add_object_vtable(bus, NULL, ARRAY, TIMER, timer, NULL) >= 0 &&
            sd_bus_add_fallback_vtable(bus, NULL, PATH "/unit", UNIT, timeouts, is_unit, NULL) >=
                    0 &&
            sd_bus_add_object_vtable(bus, NULL, "/org/freedesktop/DBus", "org.freedesktop.DBus",
                                     driver, NULL) >= 0 &&
            sd_bus_attach_event(bus, event, 0) >= 0)
                return bus;
        return sd_bus_close_unref(bus); /* the peer has gone */
}

static int on_connect(sd_event_source *s, int listener, uint32_t revents, void *data)
{
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        for (size_t i = 0; fd >= 0 && i < PEERS_MAX; i++)
                if (!peers[i] || !sd_bus_is_open(peers[i])) {
                        (void) sd_bus_close_unref(peers[i]);
                        peers[i] = serve(fd);
                        break;
                }
        return 0;
}

static int on_line(sd_event_source *s, int fd, uint32_t revents, void *data)
{
        char line[128];

        if (!fgets(line, sizeof(line), stdin))
                return sd_event_exit(event, 0);
        line[strcspn(line, "\n")] = '\0';
        if (streq(line, "answer"))
                (void) sd_event_source_set_enabled(listening, SD_EVENT_ON);
        else if (strncmp(line, "state ", 6) == 0)
                (void) copy_string(state, sizeof(state), line + 6);
        else if (strncmp(line, "loaded ", 7) == 0)
                loaded = strtoull(line + 7, NULL, 10);
        else if (strncmp(line, "array ", 6) == 0)
                array = strtoull(line + 6, NULL, 10);
        else if (strncmp(line, "refuse ", 7) == 0)
                refused = strtoul(line + 7, NULL, 10);
        else if (strncmp(line, "garble ", 7) == 0)
                garbled = strtoul(line + 7, NULL, 10);
        else if (n_units < UNITS_MAX &&
                 sscanf(line, "unit %47s %" SCNu32 " %" SCNu64 " %" SCNu64, units[n_units].name,
                        &units[n_units].job, &units[n_units].job_timeout,
                        &units[n_units].running_timeout) == 4) {
                (void) snprintf(units[n_units].path, sizeof(units[n_units].path), PATH "/unit/u%zu",
                                n_units);
                n_units++;
        }
        for (size_t i = 0; i < PEERS_MAX; i++)
                if (peers[i] && streq(line, "hang up"))
                        peers[i] = sd_bus_close_unref(peers[i]);
                else if (peers[i] && streq(line, "job"))
                        (void) job_removed(peers[i], 1, started);
                else if (peers[i] && streq(line, "finished"))
                        (void) sd_bus_emit_signal(peers[i], PATH, MANAGER, "StartupFinished",
                                                  "tttttt", (uint64_t) 0, (uint64_t) 0,
                                                  (uint64_t) 0, (uint64_t) 0, (uint64_t) 0,
                                                  (uint64_t) 0);
        return 0;
}

int main(int argc, char **argv)
{
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        if (argc != 2 || !copy_string(address.sun_path, sizeof(address.sun_path), argv[1]))
                return 2;
        (void) setvbuf(stdout, NULL, _IOLBF, 0);
        (void) setvbuf(stdin, NULL, _IONBF, 0);
        if (bind(fd, (struct sockaddr *) &address, sizeof(address)) < 0 || listen(fd, 4) < 0 ||
            sd_event_default(&event) < 0 ||
            sd_event_add_io(event, &listening, fd, EPOLLIN, on_connect, NULL) < 0 ||
            sd_event_source_set_enabled(listening, SD_EVENT_OFF) < 0 ||
            sd_event_add_io(event, NULL, STDIN_FILENO, EPOLLIN, on_line, NULL) < 0)
                return 1;
        puts("ready");
        return sd_event_loop(event) < 0;
}
