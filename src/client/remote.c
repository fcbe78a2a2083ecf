/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "client/remote.h"

#include "common/names.h"
#include "common/util.h"
#include "sys/io/clock.h"

/* Longer than a person needs to type a password. The daemon itself answers at once. */
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

/* sd_bus_call() would wait for the greeting of the other side without our limit. */
static int wait_ready(sd_bus *bus, uint64_t deadline)
{
        for (;;) {
                uint64_t usec;
                int r;

                r = sd_bus_is_ready(bus);
                if (r != 0)
                        return r < 0 ? r : 0;
                r = sd_bus_process(bus, NULL);
                if (r < 0)
                        return r;
                if (r > 0)
                        continue;
                r = left(deadline, &usec);
                if (r < 0)
                        return r;
                r = sd_bus_wait(bus, usec);
                if (r < 0 && r != -EINTR)
                        return r;
        }
}

/* Connects to uasd: on the system bus of `host`, or peer to peer on `socket`, or with neither on this machine's system bus. */
static int open_bus(const char *host, const char *socket, uint64_t deadline, sd_bus **ret)
{
        _cleanup_(sd_bus_close_unrefp) sd_bus *bus = NULL;
        char address[256];
        int r;

        if (host)
                r = sd_bus_open_system_remote(&bus, host);
        else if (!socket)
                r = sd_bus_open_system(&bus);
        else if ((size_t) snprintf(address, sizeof(address), "unix:path=%s", socket) >= sizeof(address))
                r = -ENAMETOOLONG;
        else {
                r = sd_bus_new(&bus);
                if (r >= 0)
                        r = sd_bus_set_address(bus, address);
                if (r >= 0)
                        r = sd_bus_start(bus);
        }
        if (r >= 0)
                r = wait_ready(bus, host ? now_boottime() + LOGIN_USEC : deadline);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(bus);
        return 0;
}

static int ask(sd_bus *bus, const char *interface, const char *method, uint64_t deadline, sd_bus_message **ret)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        uint64_t usec;
        int r;

        r = sd_bus_message_new_method_call(bus, &m, UASD_BUS_NAME, UASD_BUS_PATH, interface, method);
        if (r < 0)
                return r;
        r = sd_bus_message_set_auto_start(m, false); /* reading disks starts no service */
        if (r < 0)
                return r;
        r = left(deadline, &usec);
        if (r < 0)
                return r;
        r = sd_bus_call(bus, m, usec, &error, ret);
        /* The bus answers so if uasd ends before it has answered. To sd-bus that is -ETIMEDOUT. */
        return sd_bus_error_has_name(&error, SD_BUS_ERROR_NO_REPLY) ? -ENOTCONN : r;
}

/* brief: with ListDisks, unless uasd is too old for it. */
static int read_disks(sd_bus *bus, bool brief, uint64_t deadline, struct views *ret)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int r = brief ? ask(bus, UASD_BUS_MANAGER, "ListDisks", deadline, &reply) : -EBADR;

        if (r >= 0)
                return remote_parse_brief(reply, ret);
        if (r == -EBADR)
                r = ask(bus, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects", deadline, &reply);
        return r < 0 ? r : remote_parse(reply, ret);
}

/* Callers distinguish these errors: too slow, not understood, not there. */
static int summary(int k)
{
        return k == -ETIMEDOUT || k == -EBADMSG ? k : -ENOTCONN;
}

static int open_and_read(const char *host, const char *socket, bool brief, uint64_t limit_usec, struct remote *ret,
                         struct views *ret_disks)
{
        _cleanup_(remote_close) struct remote remote = {.peer = socket};
        uint64_t deadline = now_boottime() + limit_usec;
        int r = open_bus(host, socket, deadline, &remote.bus);

        if (r < 0)
                return host ? -EHOSTUNREACH : !socket && summary(r) == -ENOTCONN ? -ENETDOWN : summary(r);
        /* The limit does not include the login. */
        r = read_disks(remote.bus, brief, host ? now_boottime() + limit_usec : deadline, ret_disks);
        if (r < 0)
                return summary(r);
        *ret = TAKE_STRUCT(remote);
        return 0;
}

int remote_open(const char *host, const char *private_socket, enum remote_use use, uint64_t limit_usec, struct remote *ret,
                struct views *ret_disks)
{
        const char *first = use == REMOTE_ORDER ? NULL : private_socket, *second = use == REMOTE_ORDER ? private_socket : NULL;
        bool brief = use == REMOTE_LOOK_BRIEF;
        uint64_t start = now_boottime(), used;
        int r = open_and_read(host, first, brief, limit_usec, ret, ret_disks);

        if ((r != -ENOTCONN && r != -ENETDOWN) || !private_socket)
                return r;
        used = now_boottime() - start;
        r = open_and_read(NULL, second, brief, used < limit_usec ? limit_usec - used : 0, ret, ret_disks);
        return r == -ENETDOWN ? -ENOTCONN : r; /* without uasd there is no private socket */
}

void remote_close(struct remote *r)
{
        r->bus = sd_bus_close_unref(r->bus);
}

int remote_read(struct remote *r, struct views *ret)
{
        int k = read_disks(r->bus, false, now_boottime() + ORDER_USEC, ret);

        return k < 0 ? summary(k) : 0;
}

int remote_each_inhibitor(struct remote *r, inhibitor_fn *f, void *data)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        const char *disk, *who, *why;
        int k;

        k = sd_bus_get_property(r->bus, UASD_BUS_NAME, UASD_BUS_PATH, UASD_BUS_MANAGER, "Inhibitors", NULL, &reply, "a(sss)");
        if (k >= 0)
                k = sd_bus_message_enter_container(reply, 'a', "(sss)");
        while (k >= 0 && (k = sd_bus_message_read(reply, "(sss)", &disk, &who, &why)) > 0)
                f(disk, who, why, data);
        return k >= 0 || k == -ETIMEDOUT ? k : k == -EBADR ? -ENOSYS : -ENOTCONN;
}

static void note_inhibitor(const char *disk, const char *who, const char *why, void *data)
{
        struct views *views = data;

        for (size_t i = 0; i < views->n; i++) {
                struct disk *d = &views->list[i].disk;

                if (*disk && !streq(disk, d->facts.interface))
                        continue;
                free(d->inhibited);
                if (asprintf(&d->inhibited, "%s: %s", who, why) < 0)
                        d->inhibited = NULL;
        }
}

void remote_read_inhibited(struct remote *r, struct views *views)
{
        (void) remote_each_inhibitor(r, note_inhibitor, views);
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

bool remote_ask_version(const char *private_socket, char ret[static REMOTE_VERSION_MAX])
{
        uint64_t deadline = now_boottime() + GLANCE_USEC;
        _cleanup_(remote_close) struct remote r = {};

        if (open_bus(NULL, NULL, deadline, &r.bus) >= 0 && remote_version(&r, ret))
                return true;
        remote_close(&r);
        return private_socket && open_bus(NULL, private_socket, deadline, &r.bus) >= 0 && remote_version(&r, ret);
}

int remote_call(struct remote *r, const struct remote_call *c, sd_bus_message **ret_reply, sd_bus_error *ret_error)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;
        int k = sd_bus_message_new_method_call(r->bus, &m, UASD_BUS_NAME, UASD_BUS_PATH, UASD_BUS_MANAGER, c->method);

        if (k >= 0)
                k = sd_bus_message_set_auto_start(m, false);
        if (k >= 0)
                k = sd_bus_message_set_allow_interactive_authorization(m, c->interactive);
        if (k >= 0)
                k = sd_bus_message_append(m, "s", c->disk);
        if (k >= 0 && c->value)
                k = sd_bus_message_append(m, "s", c->value);
        if (k >= 0 && c->why)
                k = sd_bus_message_append(m, "s", c->why);
        else if (k >= 0 && c->value)
                k = c->force ? sd_bus_message_append(m, "a{sv}", 1, "force", "b", true) : sd_bus_message_append(m, "a{sv}", 0);
        if (k >= 0)
                k = sd_bus_call(r->bus, m,
                                c->limit_usec
                                        ?: c->interactive ? CALL_INTERACTIVE_USEC
                                                          : ORDER_USEC,
                                ret_error, ret_reply);
        return k < 0 ? k : 0;
}

void remote_read_rest(struct remote *r, struct view *v)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        _cleanup_(view_done) struct view now = {.disk.outcome.code = -1};
        _cleanup_free_ char *path = NULL;

        if (sd_bus_path_encode(UASD_BUS_PATH "/disk", v->disk.facts.interface, &path) < 0 ||
            sd_bus_call_method(r->bus, UASD_BUS_NAME, path, "org.freedesktop.DBus.Properties", "GetAll", NULL, &reply, "s",
                               UASD_BUS_DISK) < 0 ||
            remote_parse_changed(reply, &now) < 0 || now.disk.state != v->disk.state)
                return;
        memcpy(v->reason, now.reason, sizeof(v->reason));
        users_free(v->disk.users, v->disk.n_users);
        v->disk.users = TAKE_PTR(now.disk.users);
        v->disk.n_users = now.disk.n_users;
}
