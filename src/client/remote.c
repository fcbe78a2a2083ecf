/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "client/remote.h"

#include "common/names.h"
#include "common/util.h"
#include "sys/io/clock.h"

/* Longer than a person needs to type a password; the daemon itself answers at once. */
#define CALL_INTERACTIVE_USEC (180 * USEC_PER_SEC)
#define LOGIN_USEC CALL_INTERACTIVE_USEC

static int left(uint64_t deadline, uint64_t *ret)
{
        uint64_t now = now_boottime();

        if (now >= deadline)
                return -ETIMEDOUT;
        *ret = deadline - now;
        return 0;
}

/* sd_bus_call() would wait for the other side's greeting without our limit. */
static int wait_ready(sd_bus *bus, uint64_t deadline)
{
        for (;;) {
                uint64_t usec;
                int k;

                k = sd_bus_is_ready(bus);
                if (k != 0)
                        return k < 0 ? k : 0;
                k = sd_bus_process(bus, NULL);
                if (k < 0)
                        return k;
                if (k > 0)
                        continue;
                k = left(deadline, &usec);
                if (k < 0)
                        return k;
                k = sd_bus_wait(bus, usec);
                if (k < 0 && k != -EINTR)
                        return k;
        }
}

static int open_system(sd_bus **ret, uint64_t deadline)
{
        _cleanup_(sd_bus_close_unrefp) sd_bus *bus = NULL;
        int k;

        k = sd_bus_open_system(&bus);
        if (k < 0)
                return k;
        k = wait_ready(bus, deadline);
        if (k < 0)
                return k;
        *ret = TAKE_PTR(bus);
        return 0;
}

static int open_private(const char *socket, sd_bus **ret, uint64_t deadline)
{
        _cleanup_(sd_bus_close_unrefp) sd_bus *bus = NULL;
        char address[256];
        int k;

        if ((size_t) snprintf(address, sizeof(address), "unix:path=%s", socket) >= sizeof(address))
                return -ENAMETOOLONG;
        k = sd_bus_new(&bus);
        if (k < 0)
                return k;
        k = sd_bus_set_address(bus, address);
        if (k < 0)
                return k;
        k = sd_bus_start(bus);
        if (k < 0)
                return k;
        k = wait_ready(bus, deadline);
        if (k < 0)
                return k;
        *ret = TAKE_PTR(bus);
        return 0;
}

static int open_host(const char *host, sd_bus **ret)
{
        _cleanup_(sd_bus_close_unrefp) sd_bus *bus = NULL;
        int k = sd_bus_open_system_remote(&bus, host);

        if (k >= 0)
                k = wait_ready(bus, now_boottime() + LOGIN_USEC);
        if (k < 0)
                return k;
        *ret = TAKE_PTR(bus);
        return 0;
}

static int ask(sd_bus *bus, const char *interface, const char *method, uint64_t deadline, sd_bus_message **ret)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;
        uint64_t usec;
        int k;

        k = sd_bus_message_new_method_call(bus, &m, UASD_BUS_NAME, UASD_BUS_PATH, interface, method);
        if (k < 0)
                return k;
        k = sd_bus_message_set_auto_start(m, false); /* to look at disks starts nothing */
        if (k < 0)
                return k;
        k = left(deadline, &usec);
        if (k < 0)
                return k;
        return sd_bus_call(bus, m, usec, NULL, ret);
}

static int read_disks(sd_bus *bus, uint64_t deadline, struct views *ret)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int k = ask(bus, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects", deadline, &reply);

        return k < 0 ? k : remote_parse(reply, ret);
}

static int read_brief(sd_bus *bus, uint64_t deadline, struct views *ret)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int k = ask(bus, UASD_BUS_MANAGER, "ListDisks", deadline, &reply);

        if (k == -EBADR) /* an older uasd */
                return read_disks(bus, deadline, ret);
        return k < 0 ? k : remote_parse_brief(reply, ret);
}

typedef int (*read_fn)(sd_bus *bus, uint64_t deadline, struct views *ret);

/* Three things a caller tells apart: too slow, not understood, not there. */
static int summary(int k)
{
        if (k == -ETIMEDOUT || k == -EBADMSG || k == -ENOMEM)
                return k;
        return -ENOTCONN;
}

/* socket: NULL for the system bus. */
static int open_and_read(const char *socket, uint64_t deadline, read_fn read, struct remote *ret, struct views *ret_disks)
{
        _cleanup_(remote_close) struct remote r = {.peer = socket};
        int k = socket ? open_private(socket, &r.bus, deadline) : open_system(&r.bus, deadline);

        if (k >= 0)
                k = read(r.bus, deadline, ret_disks);
        if (k < 0)
                return summary(k);
        *ret = r;
        r = (struct remote){};
        return 0;
}

int remote_open(const char *private_socket, enum remote_use use, uint64_t limit_usec, struct remote *ret, struct views *ret_disks)
{
        const char *first = use == REMOTE_ORDER ? NULL : private_socket, *second = use == REMOTE_ORDER ? private_socket : NULL;
        uint64_t deadline = now_boottime() + limit_usec;
        read_fn read = use == REMOTE_LOOK_BRIEF ? read_brief : read_disks;
        int k = open_and_read(first, deadline, read, ret, ret_disks);

        return k == -ENOTCONN && private_socket ? open_and_read(second, deadline, read, ret, ret_disks) : k;
}

int remote_open_host(const char *host, uint64_t limit_usec, struct remote *ret, struct views *ret_disks)
{
        _cleanup_(remote_close) struct remote r = {};
        int k = open_host(host, &r.bus);

        if (k < 0)
                return -EHOSTUNREACH;
        k = read_disks(r.bus, now_boottime() + limit_usec, ret_disks);
        if (k < 0)
                return summary(k);
        *ret = r;
        r = (struct remote){};
        return 0;
}

void remote_close(struct remote *r)
{
        r->bus = sd_bus_close_unref(r->bus);
}

int remote_read(struct remote *r, uint64_t limit_usec, struct views *ret)
{
        int k = read_disks(r->bus, now_boottime() + limit_usec, ret);

        return k < 0 ? summary(k) : 0;
}

bool remote_version(struct remote *r, char ret[static REMOTE_VERSION_MAX])
{
        _cleanup_free_ char *version = NULL;

        if (sd_bus_get_property_string(r->bus, UASD_BUS_NAME, UASD_BUS_PATH, UASD_BUS_MANAGER, "Version", NULL, &version) < 0 ||
            isempty(version))
                return false;
        (void) copy_string(ret, REMOTE_VERSION_MAX, version);
        return true;
}

bool remote_ask_version(const char *private_socket, uint64_t limit_usec, char ret[static REMOTE_VERSION_MAX])
{
        uint64_t deadline = now_boottime() + limit_usec;
        _cleanup_(remote_close) struct remote r = {};

        if (open_system(&r.bus, deadline) >= 0 && remote_version(&r, ret))
                return true;
        remote_close(&r);
        return private_socket && open_private(private_socket, &r.bus, deadline) >= 0 && remote_version(&r, ret);
}

int remote_call(struct remote *r, const struct remote_call *c, sd_bus_message **ret_reply, sd_bus_error *ret_error)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;
        int k;

        k = sd_bus_message_new_method_call(r->bus, &m, UASD_BUS_NAME, UASD_BUS_PATH, UASD_BUS_MANAGER, c->method);
        if (k < 0)
                return k;
        k = sd_bus_message_set_auto_start(m, false);
        if (k < 0)
                return k;
        k = sd_bus_message_set_allow_interactive_authorization(m, c->interactive);
        if (k < 0)
                return k;
        k = sd_bus_message_append(m, "s", c->disk);
        if (k >= 0 && c->why)
                k = sd_bus_message_append(m, "ss", c->value, c->why);
        else if (k >= 0 && c->value) {
                k = sd_bus_message_append(m, "s", c->value);
                if (k >= 0 && c->force)
                        k = sd_bus_message_append(m, "a{sv}", 1, "force", "b", true);
                else if (k >= 0)
                        k = sd_bus_message_append(m, "a{sv}", 0);
        }
        if (k < 0)
                return k;
        k = sd_bus_call(r->bus, m, c->interactive ? CALL_INTERACTIVE_USEC : ORDER_USEC, ret_error, ret_reply);
        return k < 0 ? k : 0;
}
