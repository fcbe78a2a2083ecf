/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/bus/methods.h"

#include "common/names.h"
#include "daemon/bus/announce.h"
#include "daemon/disks.h"
#include "daemon/feature/requests.h"
#include "daemon/feature/switches.h"
#include "daemon/queue.h"

#define MAY_POLICY "org.uasd1.policy"
#define MAY_FORCE "org.uasd1.force"
#define MAY_EJECT "org.uasd1.eject"
#define MAY_BENCH "org.uasd1.bench"

/* org.uasd1.Manager: the requests of users. A call is read and checked. After polkit has permitted it, it is performed. */

/* ---- the arguments ---- */

/* A call may wait for a password, and uasd keeps it as long: no client may fill the memory with such calls. */
#define ARGUMENT_MAX 1024

/* a{sv}: unknown options are refused, since the caller must know that they have no effect. */
static int read_options(struct call *c)
{
        const char *key;
        int r = sd_bus_message_enter_container(c->message, 'a', "{sv}"), force = -1;

        while (r >= 0 && (r = sd_bus_message_enter_container(c->message, 'e', "sv")) > 0) {
                r = sd_bus_message_read(c->message, "s", &key);
                if (r >= 0 && !streq(key, "force"))
                        return sd_bus_error_setf(c->error, SD_BUS_ERROR_INVALID_ARGS, "No such option: %s", key);
                if (r >= 0 && force >= 0)
                        return sd_bus_error_set(c->error, SD_BUS_ERROR_INVALID_ARGS, "The option force is given twice.");
                if (r >= 0)
                        r = sd_bus_message_read(c->message, "v", "b", &force);
                if (r == -ENXIO) /* on the bus this error would mean a missing disk */
                        return sd_bus_error_set(c->error, SD_BUS_ERROR_INVALID_ARGS, "The option force is a boolean (b).");
                if (r >= 0)
                        r = sd_bus_message_exit_container(c->message);
        }
        c->force = force > 0;
        return r < 0 ? r : sd_bus_message_exit_container(c->message);
}

/* sd-bus has compared the signature with that of the method: at most three strings, and perhaps options. */
static int read_arguments(struct call *c)
{
        const char *rest = sd_bus_message_get_signature(c->message, true);

        for (const char **word = c->words; *rest == 's'; word++, rest++) {
                int r = sd_bus_message_read(c->message, "s", word);

                if (r < 0)
                        return r;
                if (strlen(*word) > ARGUMENT_MAX)
                        return sd_bus_error_set(c->error, SD_BUS_ERROR_INVALID_ARGS, "An argument is too long.");
        }
        return *rest ? read_options(c) : 0;
}

static int find_disk(struct call *c)
{
        c->entry = disk_find(c->manager, c->words[0]);
        return c->entry ? 0 : sd_bus_error_setf(c->error, UASD_BUS_ERROR_NO_SUCH_DISK, "There is no USB disk %s.", c->words[0]);
}

static int find_disk_or_all(struct call *c)
{
        return *c->words[0] ? find_disk(c) : 0;
}

/* ---- the methods ---- */

/* The holder of a lease measures both drivers, so the verdict of the database does not matter. It has already been authorized. */
static int check_switch(struct call *c)
{
        const char *name = c->words[1];
        struct refusal no;
        struct facts f;
        int leased, r;

        c->value = *name ? driver_from_string(name) : DRIVER_NONE;
        if (*name && c->value != DRIVER_UAS && c->value != DRIVER_USB_STORAGE)
                return sd_bus_error_setf(c->error, SD_BUS_ERROR_INVALID_ARGS, "No such driver to switch to: %s", name);
        r = bus_refuse_stopping(c);
        if (r < 0)
                return r;
        leased = bus_leased(c);
        if (leased < 0)
                return leased;
        c->authorized = leased && !c->force;
        if (leased)
                return c->value == DRIVER_NONE ? 0 : bus_refuse_impossible(c, (enum driver) c->value);
        bus_facts_now(c->entry, &f);
        refuse_switch(&f, (enum driver) c->value, c->force, &no);
        return bus_refuse(c, &no);
}

static int do_switch(struct call *c)
{
        char job[JOB_PATH_MAX];
        int r = request_switch(c->entry, (enum driver) c->value, c->force);

        return r < 0 ? r : sd_bus_reply_method_return(c->message, "o", bus_job_path(c->entry, job));
}

static int refuse_trim(const struct call *c, enum trim_offer offer)
{
        const struct facts *f = &c->entry->life.disk.facts;

        if (offer == TRIM_OFFER_UNKNOWN && f->driver == DRIVER_USB_STORAGE)
                return sd_bus_error_setf(
                        c->error, UASD_BUS_ERROR_REFUSED,
                        "%s: under usb-storage uasd cannot see whether the disk offers TRIM. Switch it to uas first, or force it.",
                        f->interface);
        return sd_bus_error_setf(c->error, UASD_BUS_ERROR_REFUSED,
                                 "%s: the disk does not offer TRIM (LBPU). If you force it, a bridge that cannot do it "
                                 "may lose data.",
                                 f->interface);
}

static int check_trim(struct call *c)
{
        c->value = streq(c->words[1], "on");
        return c->value || streq(c->words[1], "off")
                       ? 0
                       : sd_bus_error_setf(c->error, SD_BUS_ERROR_INVALID_ARGS, "TRIM is on or off, not %s", c->words[1]);
}

static int do_trim(struct call *c)
{
        enum trim_offer offer = TRIM_OFFER_UNKNOWN;
        int r = request_trim(c->entry, c->value, c->force, c->message, &offer);

        return r == -EOPNOTSUPP ? refuse_trim(c, offer) : r;
}

static int answer(struct call *c, int r)
{
        if (r == -EBUSY)
                return bus_refuse_running(c->entry, c->error);
        return r < 0 ? r : queue_answer(c->manager, c->message);
}

static int do_release(struct call *c)
{
        return answer(c, request_release(c->entry));
}

static int do_cancel(struct call *c)
{
        return answer(c, request_cancel(c->entry));
}

static int do_policy(struct call *c)
{
        return request_policy(c->manager, c->entry, c->words[0], (enum policy) c->value, c->force, c->message);
}

static int do_forget(struct call *c)
{
        return request_forget(c->manager, c->entry, c->words[0], c->message);
}

static int check_eject(struct call *c)
{
        int r = bus_refuse_stopping(c);

        if (r >= 0)
                r = bus_refuse_starting(c);
        if (r >= 0 && c->entry->life.disk.state == STATE_HELD)
                r = sd_bus_error_setf(c->error, UASD_BUS_ERROR_IN_USE, "%s is held, and about to be mounted.", c->words[0]);
        return r < 0 ? r : bus_leased(c);
}

static int do_eject(struct call *c)
{
        return switch_eject(c->entry, c->message);
}

static const struct method {
        const char *name;
        const char *may; /* the action of polkit, without force */
        int (*find)(struct call *c);
        int (*check)(struct call *c); /* refuses for reasons that do not depend on the user; may be NULL */
        int (*perform)(struct call *c);
} methods[] = {
        /* clang-format off */
        {"Switch", MAY_SWITCH, find_disk, check_switch, do_switch},
        {"SetPolicy", MAY_POLICY, find_disk, bus_check_policy, do_policy},
        {"SetPolicyOf", MAY_POLICY, bus_find_id, bus_check_policy, do_policy},
        {"ForgetOf", MAY_POLICY, bus_find_id, NULL, do_forget},
        {"SetTrim", MAY_POLICY, find_disk, check_trim, do_trim},
        {"Release", MAY_SWITCH, find_disk, NULL, do_release},
        {"Cancel", MAY_SWITCH, find_disk, NULL, do_cancel},
        {"Forget", MAY_POLICY, find_disk, NULL, do_forget},
        {"Eject", MAY_EJECT, find_disk, check_eject, do_eject},
        {"Inhibit", MAY_SWITCH, find_disk_or_all, NULL, bus_inhibit},
        {"Lease", MAY_BENCH, find_disk, bus_check_lease, bus_lease},
        /* clang-format on */
};

/* Called again with polkit's answer. */
static int method(sd_bus_message *message, void *data, sd_bus_error *error)
{
        struct call c = {.manager = data, .message = message, .error = error};
        const struct method *of = methods;
        int r = read_arguments(&c);

        while (!streq(of->name, sd_bus_message_get_member(message)))
                of++; /* each method of the vtable has its row */
        if (r >= 0)
                r = of->find(&c);
        if (r >= 0 && of->check)
                r = of->check(&c);
        if (r >= 0)
                r = c.authorized ? 1 : polkit_may(data, message, c.force ? MAY_FORCE : of->may, c.entry, method, error);
        if (r > 0)
                r = of->perform(&c);
        return r < 0 ? r : 1;
}

static int get_version(sd_bus *bus, const char *path, const char *interface, const char *property, sd_bus_message *reply,
                       void *data, sd_bus_error *error)
{
        return sd_bus_message_append(reply, "s", UASD_VERSION);
}

/*
 * Unprivileged: each caller gets to polkit_may(). For a method without this flag sd-bus itself demands CAP_SYS_ADMIN: a safe
 * default.
 */
#define METHOD(member, args, result, handler)                                                                                    \
        SD_BUS_METHOD_WITH_ARGS(member, SD_BUS_ARGS(args), SD_BUS_RESULT(result), handler, SD_BUS_VTABLE_UNPRIVILEGED)

const sd_bus_vtable bus_manager_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("Version", "s", get_version, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Inhibitors", "a(sss)", bus_get_inhibitors, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        METHOD("ListDisks", SD_BUS_NO_ARGS, SD_BUS_RESULT("a(" UASD_BUS_BRIEF ")", disks), bus_method_list_disks),
        METHOD("Switch", SD_BUS_ARGS("s", disk, "s", target, "a{sv}", options), SD_BUS_RESULT("o", job), method),
        METHOD("SetPolicy", SD_BUS_ARGS("s", disk, "s", policy, "a{sv}", options), SD_BUS_NO_RESULT, method),
        METHOD("ListPolicies", SD_BUS_NO_ARGS, SD_BUS_RESULT("a(ssbsas)", policies), bus_method_list_policies),
        METHOD("SetPolicyOf", SD_BUS_ARGS("s", id, "s", policy, "a{sv}", options), SD_BUS_NO_RESULT, method),
        METHOD("ForgetOf", SD_BUS_ARGS("s", id), SD_BUS_NO_RESULT, method),
        METHOD("SetTrim", SD_BUS_ARGS("s", disk, "s", trim, "a{sv}", options), SD_BUS_NO_RESULT, method),
        METHOD("Release", SD_BUS_ARGS("s", disk), SD_BUS_NO_RESULT, method),
        METHOD("Cancel", SD_BUS_ARGS("s", disk), SD_BUS_NO_RESULT, method),
        METHOD("Forget", SD_BUS_ARGS("s", disk), SD_BUS_NO_RESULT, method),
        METHOD("Eject", SD_BUS_ARGS("s", disk), SD_BUS_NO_RESULT, method),
        METHOD("Inhibit", SD_BUS_ARGS("s", disk, "s", who, "s", why), SD_BUS_RESULT("h", lock), method),
        METHOD("Lease", SD_BUS_ARGS("s", disk), SD_BUS_RESULT("h", lease), method),
        SD_BUS_SIGNAL_WITH_ARGS("JobRemoved", SD_BUS_ARGS("o", job, "s", disk, "i", code, "s", step, "s", text), 0),
        SD_BUS_VTABLE_END,
};
