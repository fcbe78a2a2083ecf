/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/bus/methods.h"

#include "common/names.h"
#include "common/util.h"
#include "daemon/bus/announce.h"
#include "daemon/bus/polkit.h"
#include "daemon/disks.h"
#include "daemon/feature/eject.h"
#include "daemon/feature/requests.h"
#include "daemon/queue.h"

/* org.uasd1.Manager: the requests of users. polkit_may() is the last step before a change. */

/* The holder of a lease measures both drivers, so the verdict of the database does not matter. */
static int refuse(const struct entry *e, enum driver target, bool force, bool leased, sd_bus_error *error)
{
        struct refusal no;
        struct facts f;

        if (leased)
                return target == DRIVER_NONE ? 0 : bus_refuse_impossible(e, target, error);
        bus_facts_now(e, &f);
        refuse_switch(&f, target, force, &no);
        return bus_refuse(e, &no, error);
}

static int method_switch(sd_bus_message *message, void *data, sd_bus_error *error)
{
        struct manager *m = data;
        char job[JOB_PATH_MAX];
        struct entry *e;
        const char *name;
        unsigned request;
        bool force;
        int target = DRIVER_NONE, leased, r = bus_read_wish(message, m, &e, &name, &force, error);

        if (r < 0)
                return r;
        if (*name && (target = driver_from_string(name)) != DRIVER_UAS && target != DRIVER_USB_STORAGE)
                return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS, "No such driver to switch to: %s", name);
        if (m->env.stopping)
                return sd_bus_error_set(error, UASD_BUS_ERROR_STOPPING, "The machine is going down.");
        leased = bus_leased(e, message, error);
        if (leased < 0)
                return leased;
        r = refuse(e, (enum driver) target, force, leased, error);
        if (r < 0)
                return r;
        /* The holder of the lease has already been authorized. */
        if (!leased || force) {
                r = polkit_may(m, message, force ? MAY_FORCE : MAY_SWITCH, e, method_switch, error);
                if (r <= 0)
                        return r < 0 ? r : 1;
        }
        r = request_switch(e, (enum driver) target, force, &request);
        if (r < 0)
                return r;
        (void) snprintf(job, sizeof(job), JOB_PATH_PREFIX "/%u", request);
        return sd_bus_reply_method_return(message, "o", job);
}

static int refuse_trim(const struct entry *e, enum trim_offer offer, sd_bus_error *error)
{
        const struct facts *f = &e->life.disk.facts;

        if (offer == TRIM_OFFER_UNKNOWN && f->driver == DRIVER_USB_STORAGE)
                return sd_bus_error_setf(
                        error, UASD_BUS_ERROR_REFUSED,
                        "%s: under usb-storage uasd cannot see whether the disk offers TRIM. Switch it to uas first, or force it.",
                        f->interface);
        return sd_bus_error_setf(error, UASD_BUS_ERROR_REFUSED,
                                 "%s: the disk does not offer TRIM (LBPU). If you force it, a bridge that cannot do it "
                                 "may lose data.",
                                 f->interface);
}

static int method_set_trim(sd_bus_message *message, void *data, sd_bus_error *error)
{
        enum trim_offer offer = TRIM_OFFER_UNKNOWN;
        bool force = false, on;
        struct entry *e;
        const char *word;
        int r = bus_read_wish(message, data, &e, &word, &force, error);

        if (r < 0)
                return r;
        on = streq(word, "on");
        if (!on && !streq(word, "off"))
                return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS, "TRIM is on or off, not %s", word);
        r = polkit_may(data, message, force ? MAY_FORCE : MAY_POLICY, e, method_set_trim, error);
        if (r <= 0)
                return r < 0 ? r : 1;
        r = request_trim(e, on, force, message, &offer);
        if (r == -EOPNOTSUPP)
                return refuse_trim(e, offer, error);
        return r < 0 ? r : 1;
}

/* Reads the disk argument of a method. Returns 0 until polkit has answered, or an error. */
static int may_on_disk(sd_bus_message *message, void *data, const char *may, method_fn method, struct entry **ret,
                       sd_bus_error *error)
{
        int r = bus_read_disk(message, data, ret, error);

        return r < 0 ? r : polkit_may(data, message, may, *ret, method, error);
}

/* A method with a disk argument and an empty answer. */
static int method_on_disk(sd_bus_message *message, void *data, method_fn method, int (*act)(struct entry *e), sd_bus_error *error)
{
        struct entry *e;
        int r = may_on_disk(message, data, MAY_SWITCH, method, &e, error);

        if (r <= 0)
                return r < 0 ? r : 1;
        r = act(e);
        if (r == -EBUSY)
                return bus_refuse_running(e, error);
        return r < 0 ? r : queue_answer(data, message);
}

static int method_release(sd_bus_message *message, void *data, sd_bus_error *error)
{
        return method_on_disk(message, data, method_release, request_release, error);
}

static int method_cancel(sd_bus_message *message, void *data, sd_bus_error *error)
{
        return method_on_disk(message, data, method_cancel, request_cancel, error);
}

static int method_forget(sd_bus_message *message, void *data, sd_bus_error *error)
{
        struct entry *e;
        int r = may_on_disk(message, data, MAY_POLICY, method_forget, &e, error);

        if (r > 0)
                r = request_forget(e, message);
        return r < 0 ? r : 1;
}

/* A disk that is about to be mounted has no user yet. */
static int refuse_eject(const struct manager *m, const struct entry *e, sd_bus_message *message, sd_bus_error *error)
{
        const char *id = e->life.disk.facts.interface;

        if (m->env.stopping)
                return sd_bus_error_set(error, UASD_BUS_ERROR_STOPPING, "The machine is going down.");
        if (!m->env.booted)
                return sd_bus_error_setf(error, UASD_BUS_ERROR_IN_USE,
                                         "%s: the machine is still starting, and may be about to mount it.", id);
        if (e->life.disk.state == STATE_HELD)
                return sd_bus_error_setf(error, UASD_BUS_ERROR_IN_USE, "%s is held, and about to be mounted.", id);
        return bus_leased(e, message, error);
}

static int method_eject(sd_bus_message *message, void *data, sd_bus_error *error)
{
        struct entry *e;
        int r = bus_read_disk(message, data, &e, error);

        if (r >= 0)
                r = refuse_eject(data, e, message, error);
        if (r >= 0)
                r = polkit_may(data, message, MAY_EJECT, e, method_eject, error);
        if (r > 0)
                r = eject_new(e, message);
        return r < 0 ? r : 1;
}

static int get_version(sd_bus *bus, const char *path, const char *interface, const char *property, sd_bus_message *reply,
                       void *data, sd_bus_error *error)
{
        return sd_bus_message_append(reply, "s", UASD_VERSION);
}

/*
 * Unprivileged: each caller gets to polkit_may(). The flag is written at each method, since for a method without it sd-bus itself
 * demands CAP_SYS_ADMIN: a safe default.
 */
const sd_bus_vtable bus_manager_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("Version", "s", get_version, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Inhibitors", "a(sss)", bus_get_inhibitors, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_METHOD_WITH_ARGS("ListDisks", SD_BUS_NO_ARGS, SD_BUS_RESULT("a(" UASD_BUS_BRIEF ")", disks), bus_method_list_disks,
                                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("Switch", SD_BUS_ARGS("s", disk, "s", target, "a{sv}", options), SD_BUS_RESULT("o", job),
                                method_switch, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("SetPolicy", SD_BUS_ARGS("s", disk, "s", policy, "a{sv}", options), SD_BUS_NO_RESULT,
                                bus_method_set_policy, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("ListPolicies", SD_BUS_NO_ARGS, SD_BUS_RESULT("a(ssbsas)", policies), bus_method_list_policies,
                                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("SetPolicyOf", SD_BUS_ARGS("s", id, "s", policy, "a{sv}", options), SD_BUS_NO_RESULT,
                                bus_method_set_policy_of, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("ForgetOf", SD_BUS_ARGS("s", id), SD_BUS_NO_RESULT, bus_method_forget_of,
                                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("SetTrim", SD_BUS_ARGS("s", disk, "s", trim, "a{sv}", options), SD_BUS_NO_RESULT, method_set_trim,
                                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("Release", SD_BUS_ARGS("s", disk), SD_BUS_NO_RESULT, method_release, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("Cancel", SD_BUS_ARGS("s", disk), SD_BUS_NO_RESULT, method_cancel, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("Forget", SD_BUS_ARGS("s", disk), SD_BUS_NO_RESULT, method_forget, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("Eject", SD_BUS_ARGS("s", disk), SD_BUS_NO_RESULT, method_eject, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("Inhibit", SD_BUS_ARGS("s", disk, "s", who, "s", why), SD_BUS_RESULT("h", lock),
                                bus_method_inhibit, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("Lease", SD_BUS_ARGS("s", disk), SD_BUS_RESULT("h", lease), bus_method_lease,
                                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_SIGNAL_WITH_ARGS("JobRemoved", SD_BUS_ARGS("o", job, "s", disk, "i", code, "s", step, "s", text), 0),
        SD_BUS_VTABLE_END,
};
