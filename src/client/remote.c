/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "client/remote.h"
#include "client/remote-parse.h"

#include "common/names.h"
#include "common/util.h"
#include "sys/io/bus-wait.h"

/* Longer than a person needs to type a password. The daemon itself answers at once. */
#define CALL_INTERACTIVE_USEC (180 * USEC_PER_SEC)

static int start_peer(const char *socket, sd_bus **ret)
{
        _cleanup_(sd_bus_close_unrefp) sd_bus *bus = NULL;
        char address[256];
        int r;

        (void) snprintf(address, sizeof(address), "unix:path=%s", socket);
        r = sd_bus_new(&bus);
        if (r < 0)
                return r;
        r = sd_bus_set_address(bus, address);
        if (r < 0)
                return r;
        r = sd_bus_start(bus);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(bus);
        return 0;
}

/* Connects to uasd: peer to peer on `socket`, or without one on the system bus. */
static int open_bus(const char *socket, struct awake deadline, sd_bus **ret)
{
        _cleanup_(sd_bus_close_unrefp) sd_bus *bus = NULL;
        int r;

        if (socket)
                r = start_peer(socket, &bus);
        else
                r = sd_bus_open_system(&bus);
        if (r < 0)
                return r;
        r = bus_wait_ready(bus, deadline);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(bus);
        return 0;
}

/* The bus itself answers so if uasd is not on it, or ends before it has answered. To sd-bus the
 * latter is -ETIMEDOUT. */
static int if_ended(const sd_bus_error *e, int r)
{
        return sd_bus_error_has_names(e, SD_BUS_ERROR_NO_REPLY, SD_BUS_ERROR_SERVICE_UNKNOWN,
                                      SD_BUS_ERROR_NAME_HAS_NO_OWNER)
                       ? -ENOTCONN
                       : r;
}

static int remote_ask(sd_bus *bus, bool users, struct awake deadline, struct courses *ret)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL, *reply = NULL;
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        usec_t left;
        int r;

        r = sd_bus_message_new_method_call(bus, &m, UASD_BUS_NAME, UASD_BUS_PATH, UASD_BUS_MANAGER,
                                           "ListDisks");
        if (r < 0)
                return r;
        r = sd_bus_message_set_auto_start(m, false); /* reading disks starts no service */
        if (r < 0)
                return r;
        r = sd_bus_message_append(m, "b", users);
        if (r < 0)
                return r;
        left = awake_left(deadline);
        if (left == 0) /* sd_bus_call() takes 0 for "25 s" */
                return -ETIMEDOUT;
        r = sd_bus_call(bus, m, left, &error, &reply);
        if (sd_bus_error_has_name(&error, SD_BUS_ERROR_UNKNOWN_METHOD) ||
            sd_bus_error_has_name(&error, SD_BUS_ERROR_INVALID_ARGS))
                return -EBADMSG; /* another version */
        if (r < 0)
                return if_ended(&error, r);
        return remote_parse(reply, ret);
}

/* Callers distinguish these errors: too slow, not understood, not there. */
static int remote_error(int r)
{
        if (r == -ETIMEDOUT || r == -EBADMSG)
                return r;
        return -ENOTCONN;
}

static int open_and_read(const char *socket, bool users, struct awake deadline, struct remote *ret,
                         struct courses *ret_courses)
{
        _cleanup_(remote_close) struct remote remote = {.peer = socket};
        int r = open_bus(socket, deadline, &remote.bus);

        if (r < 0 && !socket && remote_error(r) == -ENOTCONN)
                return -ENETDOWN;
        if (r < 0)
                return remote_error(r);
        r = remote_ask(remote.bus, users, deadline, ret_courses);
        if (r < 0)
                return remote_error(r);
        *ret = TAKE_STRUCT(remote);
        return 0;
}

int remote_open(const char *private_socket, enum remote_use use, bool users, uint64_t limit_usec,
                struct remote *ret, struct courses *ret_courses)
{
        const char *first = private_socket, *second = NULL;
        struct awake deadline = awake_in(limit_usec);
        int r;

        if (use == REMOTE_ORDER) {
                first = NULL;
                second = private_socket;
        }
        r = open_and_read(first, users, deadline, ret, ret_courses);
        if ((r != -ENOTCONN && r != -ENETDOWN) || !private_socket)
                return r;
        r = open_and_read(second, users, deadline, ret, ret_courses);
        if (r == -ENETDOWN) /* without uasd there is no private socket */
                return -ENOTCONN;
        return r;
}

void remote_close(struct remote *remote)
{
        remote->bus = sd_bus_close_unref(remote->bus);
}

int remote_read(struct remote *remote, struct courses *ret)
{
        int r = remote_ask(remote->bus, true, awake_in(ORDER_USEC), ret);

        if (r < 0)
                return remote_error(r);
        return 0;
}

static int each_inhibitor(struct remote *remote, inhibitor_fn *f, void *data)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        const char *disk, *who, *why;
        int r;

        r = sd_bus_get_property(remote->bus, UASD_BUS_NAME, UASD_BUS_PATH, UASD_BUS_MANAGER,
                                "Inhibitors", &error, &reply, "a(sss)");
        if (r < 0)
                return if_ended(&error, r);
        r = sd_bus_message_enter_container(reply, 'a', "(sss)");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_read(reply, "(sss)", &disk, &who, &why)) > 0)
                f(disk, who, why, data);
        return r;
}

static int member_error(int r)
{
        if (r == -EBADR)
                return -ENOSYS;
        if (r < 0 && r != -ETIMEDOUT)
                return -ENOTCONN;
        return r;
}

int remote_each_inhibitor(struct remote *remote, inhibitor_fn *f, void *data)
{
        return member_error(each_inhibitor(remote, f, data));
}

int remote_policies(struct remote *remote, sd_bus_message **ret_reply)
{
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        int r = sd_bus_call_method(remote->bus, UASD_BUS_NAME, UASD_BUS_PATH, UASD_BUS_MANAGER,
                                   "ListPolicies", &error, ret_reply, "");

        r = if_ended(&error, r);
        if (r < 0 && r != -EBADR && sd_bus_is_open(remote->bus)) /* the answer */
                return r;
        return member_error(r);
}

bool remote_version(struct remote *remote, char ret[static REMOTE_VERSION_MAX])
{
        _cleanup_free_ char *version = NULL;

        if (sd_bus_get_property_string(remote->bus, UASD_BUS_NAME, UASD_BUS_PATH, UASD_BUS_MANAGER,
                                       "Version", NULL, &version) < 0 ||
            isempty(version))
                return false;
        (void) copy_string(ret, REMOTE_VERSION_MAX, version);
        return true;
}

bool remote_ask_version(const char *private_socket, char ret[static REMOTE_VERSION_MAX])
{
        struct awake deadline = awake_in(GLANCE_USEC);
        _cleanup_(remote_close) struct remote remote = {};

        if (open_bus(NULL, deadline, &remote.bus) >= 0 && remote_version(&remote, ret))
                return true;
        remote_close(&remote);
        return private_socket && open_bus(private_socket, deadline, &remote.bus) >= 0 &&
               remote_version(&remote, ret);
}

static int append_arguments(sd_bus_message *m, const struct remote_call *c)
{
        const char *const words[] = {c->id, c->value, c->why};

        for (size_t i = 0; i < ELEMENTSOF(words); i++) {
                int r = words[i] ? sd_bus_message_append(m, "s", words[i]) : 0;

                if (r < 0)
                        return r;
        }
        if (c->force)
                return sd_bus_message_append(m, "a{sv}", 1, "force", "b", true);
        return sd_bus_message_append(m, "a{sv}", 0);
}

/* Without a disk: the manager. */
static int call_object(const struct remote_call *c, char **ret_path, const char **ret_interface)
{
        *ret_interface = UASD_BUS_MANAGER;
        if (c->disk) {
                *ret_interface = UASD_BUS_DISK;
                return sd_bus_path_encode(UASD_BUS_PATH "/disk", c->disk, ret_path);
        }
        *ret_path = strdup(UASD_BUS_PATH);
        return *ret_path ? 0 : -ENOMEM;
}

static uint64_t call_limit(const struct remote_call *c)
{
        if (c->limit_usec > 0)
                return c->limit_usec;
        return c->interactive ? CALL_INTERACTIVE_USEC : ORDER_USEC;
}

static int on_call_end(sd_bus_message *m, void *data, sd_bus_error *e)
{
        *(sd_bus_message **) data = sd_bus_message_ref(m);
        return 0;
}

/* Unlike sd_bus_call(), it returns an error with all of its arguments. */
static int call_wait(sd_bus *bus, sd_bus_message *call, uint64_t limit_usec, sd_bus_message **ret)
{
        _cleanup_(sd_bus_slot_unrefp) sd_bus_slot *slot = NULL;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        struct awake deadline = awake_in(limit_usec);
        int r = sd_bus_call_async(bus, &slot, call, on_call_end, &reply, UINT64_MAX);

        while (r >= 0 && !reply)
                r = bus_process(bus, deadline);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(reply);
        return 0;
}

/* uasd sends its errors in English, and then in parts. */
static int call_error(sd_bus_message *reply, sd_bus_error *ret)
{
        const sd_bus_error *e = sd_bus_message_get_error(reply);
        const char *parts;

        if (!e)
                return 0;
        if (sd_bus_message_read(reply, "ss", NULL, &parts) > 0)
                return sd_bus_error_set(ret, e->name, parts);
        return if_ended(e, sd_bus_error_copy(ret, e));
}

int remote_call(struct remote *remote, const struct remote_call *c, sd_bus_message **ret_reply,
                sd_bus_error *ret_error)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL, *reply = NULL;
        _cleanup_free_ char *path = NULL;
        const char *interface;
        int r = call_object(c, &path, &interface);

        if (r < 0)
                return r;
        r = sd_bus_message_new_method_call(remote->bus, &m, UASD_BUS_NAME, path, interface,
                                           c->method);
        if (r < 0)
                return r;
        r = sd_bus_message_set_auto_start(m, false);
        if (r < 0)
                return r;
        r = sd_bus_message_set_allow_interactive_authorization(m, c->interactive);
        if (r < 0)
                return r;
        r = append_arguments(m, c);
        if (r < 0)
                return r;
        r = call_wait(remote->bus, m, call_limit(c), &reply);
        if (r < 0)
                return r;
        r = call_error(reply, ret_error);
        if (r < 0)
                return r;
        if (ret_reply)
                *ret_reply = TAKE_PTR(reply);
        return 0;
}
