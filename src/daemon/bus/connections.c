/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/bus/announce.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "common/log.h"
#include "common/names.h"
#include "common/util.h"
#include "daemon/bus/methods.h"
#include "sys/io/statefile.h"

#define SYSTEM_BUS "unix:path=/run/dbus/system_bus_socket"
#define REJOIN_USEC (5 * USEC_PER_SEC)

/*
 * The same objects on the system bus, once there is one, and peer to peer on /run/uasd/private for
 * root. Root may need uasd in a boot that waits for a held disk, long before D-Bus.
 */

/*
 * Nothing is flushed at the exit of the event loop. Unsent messages are for a client that does not
 * read, and a flush would keep uasd from stopping.
 */
static int bus_attach(struct bus *b, sd_bus *bus)
{
        int r = sd_bus_set_close_on_exit(bus, false);

        if (r < 0)
                return r;
        return sd_bus_attach_event(bus, b->manager->event, SD_EVENT_PRIORITY_NORMAL);
}

/* ---- the system bus ---- */

static void bus_join(void *data);

static void bus_join_later(struct bus *b)
{
        if (!b->rejoin.timer)
                (void) later_call(&b->rejoin, b->manager->event, REJOIN_USEC, bus_join, b);
}

static int bus_on_left(sd_bus_message *message, void *data, sd_bus_error *error)
{
        struct bus *b = data;

        log_debug("left the system bus");
        bus_join_later(b);
        return 0;
}

static int bus_on_name(sd_bus_message *message, void *data, sd_bus_error *error)
{
        if (sd_bus_message_is_method_error(message, NULL))
                log_warning("cannot acquire the name " UASD_BUS_NAME " on the system bus: %s",
                            sd_bus_message_get_error(message)->message);
        return 0;
}

/* Waits in inotify for a bus that does not exist yet; makes no synchronous call. */
static int bus_connect(struct bus *b, sd_bus **ret)
{
        _cleanup_(sd_bus_unrefp) sd_bus *bus = NULL;
        int r;

        r = sd_bus_new(&bus);
        if (r < 0)
                return r;
        r = sd_bus_set_address(bus, secure_getenv("DBUS_SYSTEM_BUS_ADDRESS") ?: SYSTEM_BUS);
        if (r < 0)
                return r;
        r = sd_bus_set_bus_client(bus, true);
        if (r < 0)
                return r;
        r = sd_bus_set_watch_bind(bus, true);
        if (r < 0)
                return r;
        r = sd_bus_start(bus);
        if (r < 0)
                return r;
        r = bus_objects_add(bus, b->manager);
        if (r < 0)
                return r;
        r = sd_bus_match_signal_async(bus, NULL, "org.freedesktop.DBus.Local", NULL,
                                      "org.freedesktop.DBus.Local", "Disconnected", bus_on_left,
                                      NULL, b);
        if (r < 0)
                return r;
        r = sd_bus_request_name_async(bus, NULL, UASD_BUS_NAME, 0, bus_on_name, b);
        if (r < 0)
                return r;
        r = bus_attach(b, bus);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(bus);
        return 0;
}

/*
 * If the bus does not accept a connection now, for example because many others connect after its
 * restart, a timer tries again.
 */
static void bus_join(void *data)
{
        struct bus *b = data;
        int r;

        b->system = sd_bus_close_unref(b->system);
        r = bus_connect(b, &b->system);
        if (r < 0) {
                if (r != b->join_error)
                        log_warning("cannot join the system bus: %s", strerror(-r));
                b->join_error = r;
                bus_join_later(b);
                return;
        }
        b->join_error = 0;
        r = sleep_watch(b->manager);
        if (r < 0)
                log_warning("cannot follow logind: %s", strerror(-r));
}

/* ---- peers ---- */

static int peer_on_end(sd_bus_message *message, void *data, sd_bus_error *error)
{
        sd_bus **peer = data;

        *peer = sd_bus_close_unref(*peer);
        return 0;
}

/* *fd belongs to the connection then. */
static int peer_welcome(struct bus *b, int *fd, sd_bus **ret)
{
        _cleanup_(sd_bus_unrefp) sd_bus *peer = NULL;
        sd_id128_t id;
        int r;

        r = sd_id128_randomize(&id);
        if (r < 0)
                return r;
        r = sd_bus_new(&peer);
        if (r < 0)
                return r;
        r = sd_bus_set_server(peer, true, id);
        if (r < 0)
                return r;
        r = sd_bus_set_fd(peer, *fd, *fd);
        if (r < 0)
                return r;
        *fd = -1;
        r = sd_bus_set_sender(peer, UASD_BUS_NAME);
        if (r < 0)
                return r;
        r = sd_bus_start(peer);
        if (r < 0)
                return r;
        r = bus_objects_add(peer, b->manager);
        if (r < 0)
                return r;
        r = sd_bus_match_signal(peer, NULL, NULL, NULL, "org.freedesktop.DBus.Local",
                                "Disconnected", peer_on_end, ret);
        if (r < 0)
                return r;
        r = bus_attach(b, peer);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(peer);
        return 0;
}

static int peer_on_connect(sd_event_source *s, int listener, uint32_t revents, void *data)
{
        struct bus *b = data;
        struct ucred peer = {0};
        socklen_t size = sizeof(peer);
        _cleanup_close_ int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        size_t i = 0;
        int r = -EUSERS;

        /* The mode of the socket restricts it to root. This check also covers a descriptor that
         * another process received. */
        if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 || peer.uid != 0)
                return 0;
        while (i < PEERS_MAX && b->peers[i])
                i++;
        if (i < PEERS_MAX)
                r = peer_welcome(b, &fd, &b->peers[i]);
        if (r < 0)
                log_debug("cannot serve a peer: %s", strerror(-r));
        return 0;
}

static int bus_listen_private(struct bus *b)
{
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        _cleanup_close_ int fd = -1;
        struct manager *m = b->manager;
        sd_event_source *source;
        int r = state_mkdir(m->roots.run, RUN_DIR);

        if (r < 0)
                return r;
        (void) snprintf(address.sun_path, sizeof(address.sun_path),
                        "/proc/self/fd/%i/" RUN_PRIVATE_SOCKET, m->roots.run);
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return -errno;
        (void) unlinkat(m->roots.run, RUN_PRIVATE_SOCKET, 0);
        mode_t mask = umask(0177);
        r = bind(fd, (struct sockaddr *) &address, sizeof(address));
        (void) umask(mask);
        if (r < 0 || listen(fd, 16) < 0)
                return -errno;
        r = sd_event_add_io(m->event, &source, fd, EPOLLIN, peer_on_connect, b);
        if (r < 0)
                return r;
        (void) sd_event_source_set_io_fd_own(source, TAKE_FD(fd) >= 0);
        return 0;
}

void bus_start(struct manager *m)
{
        struct bus *b = &m->bus;
        int r;

        b->manager = m;
        r = bus_listen_private(b);
        if (r < 0)
                log_warning("cannot open the private socket: %s", strerror(-r));
        bus_join(b);
}
