/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/bus/answer.h"

#include <stdarg.h>
#include <sys/socket.h>
#include <systemd/sd-bus.h>

#include "common/sentence.h"
#include "daemon/bus/error.h"
#include "daemon/manager.h"
#include "daemon/queue.h"

/* The message is the call: nothing else has to be kept. */
static sd_bus_message *call_message(struct bus_call *c)
{
        return (sd_bus_message *) c;
}

struct bus_call *bus_call_ref(struct bus_call *c)
{
        return (struct bus_call *) sd_bus_message_ref(call_message(c));
}

struct bus_call *bus_call_unref(struct bus_call *c)
{
        return (struct bus_call *) sd_bus_message_unref(call_message(c));
}

void bus_call_return(struct bus_call *c)
{
        (void) sd_bus_reply_method_return(call_message(c), NULL);
}

int bus_call_return_fd(struct bus_call *c, int fd)
{
        return sd_bus_reply_method_return(call_message(c), "h", fd);
}

static void reply_send(struct manager *m, void *data)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = data;

        (void) sd_bus_send(NULL, reply, NULL);
}

void bus_call_return_later(struct manager *m, struct bus_call *c, const char *warning)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int r = sd_bus_message_new_method_return(call_message(c), &reply);
        char text[1024];

        if (r < 0)
                return;
        if (warning && *warning)
                r = sd_bus_message_append(reply, "a{sv}", 2, "warning", "s",
                                          sentence_english(warning, text, sizeof(text)), "parts",
                                          "s", warning);
        else if (warning)
                r = sd_bus_message_append(reply, "a{sv}", 0);
        if (r < 0)
                return;
        if (m->ended) /* the manager performs no posts any more */
                reply_send(m, TAKE_PTR(reply));
        else
                queue_call(m, reply_send, TAKE_PTR(reply));
}

void bus_call_fail(struct bus_call *c, const char *error, const char *format, ...)
{
        _cleanup_(sd_bus_error_free) sd_bus_error e = SD_BUS_ERROR_NULL;
        va_list ap;

        va_start(ap, format);
        (void) bus_error_set_valist(&e, error, format, ap);
        va_end(ap);
        (void) bus_error_send(call_message(c), &e);
}

void bus_call_fail_errno(struct bus_call *c, int error, const char *format, ...)
{
        _cleanup_(sd_bus_error_free) sd_bus_error e = SD_BUS_ERROR_NULL, of = SD_BUS_ERROR_NULL;
        va_list ap;

        (void) sd_bus_error_set_errno(&of, error);
        va_start(ap, format);
        (void) bus_error_set_valist(&e, of.name, format, ap);
        va_end(ap);
        (void) bus_error_send(call_message(c), &e);
}

/* ---- the caller ---- */

struct bus_peer {
        sd_bus *bus;
        char *sender; /* NULL: peer to peer */
        sd_bus_slot *asked;
        bus_peer_fn fn;
        void *data;
};

struct bus_peer *bus_peer_new(struct bus_call *c)
{
        sd_bus *bus = sd_bus_message_get_bus(call_message(c));
        const char *sender = sd_bus_message_get_sender(call_message(c));
        struct bus_peer *p = calloc(1, sizeof(*p));

        if (!p)
                return NULL;
        p->bus = sd_bus_ref(bus);
        if (sd_bus_is_bus_client(bus) <= 0)
                return p;
        p->sender = sender ? strdup(sender) : NULL;
        if (p->sender)
                return p;
        bus_peer_free(p);
        return NULL;
}

void bus_peer_free(struct bus_peer *p)
{
        if (!p)
                return;
        sd_bus_slot_unref(p->asked);
        sd_bus_unref(p->bus);
        free(p->sender);
        free(p);
}

bool bus_peer_makes(const struct bus_peer *p, struct bus_call *c)
{
        const char *sender = sd_bus_message_get_sender(call_message(c));

        return sd_bus_message_get_bus(call_message(c)) == p->bus &&
               (!p->sender || (sender && streq(sender, p->sender)));
}

static int peer_on_pid(sd_bus_message *reply, void *data, sd_bus_error *error)
{
        const struct bus_peer *p = data;
        uint32_t pid;

        if (!sd_bus_message_is_method_error(reply, NULL) &&
            sd_bus_message_read(reply, "u", &pid) >= 0)
                p->fn(p->data, (pid_t) pid);
        return 0;
}

void bus_peer_ask_pid(struct bus_peer *p, bus_peer_fn fn, void *data)
{
        struct ucred peer = {0};
        socklen_t size = sizeof(peer);

        p->fn = fn;
        p->data = data;
        if (p->sender)
                (void) sd_bus_call_method_async(p->bus, &p->asked, "org.freedesktop.DBus",
                                                "/org/freedesktop/DBus", "org.freedesktop.DBus",
                                                "GetConnectionUnixProcessID", peer_on_pid, p, "s",
                                                p->sender);
        else if (getsockopt(sd_bus_get_fd(p->bus), SOL_SOCKET, SO_PEERCRED, &peer, &size) >= 0)
                fn(data, peer.pid);
}
