/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/bus/methods.h"

#include <assert.h>

#include "common/exit-codes.h"
#include "common/gettext.h"
#include "common/names.h"
#include "common/util.h"
#include "core/history.h"
#include "core/request.h"
#include "daemon/bus/answer.h"
#include "daemon/bus/error.h"
#include "daemon/feature/inhibit.h"
#include "daemon/feature/lease.h"
#include "daemon/feature/report.h"
#include "daemon/feature/requests.h"
#include "daemon/feature/switches.h"
#include "daemon/work/records.h"
#include "sys/udev/udevdb.h"

#define MAY_SWITCH "org.uasd1.switch"
#define MAY_POLICY "org.uasd1.policy"
#define MAY_FORCE "org.uasd1.force"
#define MAY_EJECT "org.uasd1.eject"
#define MAY_EJECT_OTHER "org.uasd1.eject-other-seat"
#define MAY_BENCH "org.uasd1.bench"

/* The requests of users: methods of a disk, of a job, and of the manager for all disks. A call is
 * read and checked. After polkit has permitted it, it is performed. */

/* A call of a method that needs a permission. */
struct call {
        struct manager *manager;
        sd_bus_message *message;
        sd_bus_error *error;
        const char *id;       /* "VID:PID:SERIAL", its first argument; NULL: of another method */
        const char *words[2]; /* the other strings among its arguments */
        bool force;           /* its option */
        struct entry *entry;  /* its disk; NULL: all disks, or one that is not plugged in */
        int value;            /* meaning of a word: a driver, a policy, or on */
        bool authorized;      /* polkit need not be asked */
};

/* For an answer that comes later, see daemon/bus/answer.h. */
static struct bus_call *call_handle(const struct call *c)
{
        return (struct bus_call *) c->message;
}

/* Functions that take one return 0, or a negative errno with the error set. */

/* ---- the arguments ---- */

/* A call may wait for a password, and uasd keeps it as long: no client may fill the memory with
 * such calls. */
#define ARGUMENT_MAX 1024

/* a{sv}: unknown options are refused, since the caller must know that they have no effect. */
static int call_read_options(struct call *c, bool takes_force)
{
        const char *key;
        int force = -1, r;

        r = sd_bus_message_enter_container(c->message, 'a', "{sv}");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_enter_container(c->message, 'e', "sv")) > 0) {
                r = sd_bus_message_read(c->message, "s", &key);
                if (r < 0)
                        return r;
                if (!takes_force || !streq(key, "force"))
                        return bus_error_set(c->error, SD_BUS_ERROR_INVALID_ARGS,
                                             "No such option: %s", key);
                if (force >= 0)
                        return bus_error_set(c->error, SD_BUS_ERROR_INVALID_ARGS,
                                             "The option force is given twice.");
                r = sd_bus_message_read(c->message, "v", "b", &force);
                if (r == -ENXIO) /* on the bus this error would mean a missing disk */
                        return bus_error_set(c->error, SD_BUS_ERROR_INVALID_ARGS,
                                             "The option force is a boolean (b).");
                if (r < 0)
                        return r;
                r = sd_bus_message_exit_container(c->message);
                if (r < 0)
                        return r;
        }
        if (r < 0)
                return r;
        c->force = force > 0;
        return sd_bus_message_exit_container(c->message);
}

static int call_read_word(const struct call *c, const char **ret)
{
        int r = sd_bus_message_read(c->message, "s", ret);

        if (r < 0)
                return r;
        if (strlen(*ret) > ARGUMENT_MAX)
                return bus_error_set(c->error, SD_BUS_ERROR_INVALID_ARGS,
                                     "An argument is too long.");
        return 0;
}

/* sd-bus has compared the signature with that of the method: perhaps an id, at most two strings,
 * and options. */
static int call_read_arguments(struct call *c, bool by_id, bool takes_force)
{
        const char *rest = sd_bus_message_get_signature(c->message, true);
        int r;

        if (by_id) {
                r = call_read_word(c, &c->id);
                if (r < 0)
                        return r;
                rest++;
        }
        for (const char **word = c->words; *rest == 's'; word++, rest++) {
                r = call_read_word(c, word);
                if (r < 0)
                        return r;
        }
        return call_read_options(c, takes_force);
}

/* "VID:PID:SERIAL", which need not be plugged in. */
static int call_find_id(struct call *c)
{
        const struct manager *m = c->manager;
        char key[HISTORY_KEY_MAX];

        assert(c->id); /* an argument of these methods */
        if (!history_id_parse(c->id, key, sizeof(key)) || !streq(c->id, key))
                return bus_error_set(c->error, SD_BUS_ERROR_INVALID_ARGS,
                                     "That is no VID:PID:SERIAL.");
        FOREACH_ENTRY (e, m)
                if (!c->entry && history_id_is_of(c->id, &e->life.disk.facts))
                        c->entry = e;
        return 0;
}

/* The disk of the object that was called. A job may end while polkit is asked. A disk that has gone
 * meanwhile was refused before (question_call_method()). */
static int call_find(struct call *c)
{
        const char *path = sd_bus_message_get_path(c->message);

        if (streq(path, UASD_BUS_PATH))
                return 0;
        c->entry = bus_disk_find(c->manager, path) ?: bus_job_find(c->manager, path);
        if (c->entry)
                return 0;
        return bus_error_set(c->error, SD_BUS_ERROR_UNKNOWN_OBJECT, "The job has ended.");
}

/* ---- the reasons to refuse ---- */

/*
 * Returns the facts that decide a request, read again: a write to the quirks parameter or to the
 * files of uasd makes no uevent.
 */
static void facts_now(const struct entry *e, struct facts *ret)
{
        *ret = e->life.disk.facts;
        record_complete(e, ret);
}

static int call_refuse_stopping(const struct call *c)
{
        if (!c->manager->env.stopping)
                return 0;
        return bus_error_set(c->error, UASD_BUS_ERROR_STOPPING, "The machine is going down.");
}

/* A disk that is about to be mounted has no user yet. */
static int call_refuse_starting(const struct call *c)
{
        if (c->manager->env.booted)
                return 0;
        return bus_error_set(c->error, UASD_BUS_ERROR_IN_USE,
                             "%s: the machine is still starting, and may be about to mount it.",
                             c->entry->life.disk.facts.interface);
}

/* Refuses if the disk can never be on that driver. */
static int call_refuse_impossible(const struct call *c, enum driver target)
{
        const struct facts *f = &c->entry->life.disk.facts;
        bool uas = facts_offer_uas(f);

        if (uas && (target != DRIVER_USB_STORAGE || f->caps.bot))
                return 0;
        return bus_error_set(c->error, UASD_BUS_ERROR_INCAPABLE, "%s: %s", f->interface,
                             uas ? N_("this disk speaks only UAS")
                                 : N_("this disk does not offer UAS completely"));
}

static const char *refusal_bus_error(const struct refusal *no)
{
        if (no->code == UASD_EXIT_INCAPABLE)
                return UASD_BUS_ERROR_INCAPABLE;
        if (no->force_helps)
                return UASD_BUS_ERROR_FORCE_NEEDED;
        return UASD_BUS_ERROR_REFUSED;
}

static int call_refuse(const struct call *c, const struct refusal *no)
{
        if (no->code == UASD_EXIT_OK)
                return 0;
        return bus_error_set(c->error, refusal_bus_error(no), "%s: %s",
                             c->entry->life.disk.facts.interface, refusal_text(no));
}

/* Returns 1 if the caller has the lease of the disk; refuses if another one has it. */
static int call_leased(const struct call *c)
{
        if (!lease_held(c->entry))
                return 0;
        if (lease_is_of(c->entry, call_handle(c)))
                return 1;
        return bus_error_set(c->error, UASD_BUS_ERROR_IN_USE, "%s is leased: %s",
                             c->entry->life.disk.facts.interface, c->entry->life.disk.lease);
}

/* ---- the methods ---- */

/* The holder of a lease measures both drivers, so the verdict of the database does not matter. It
 * has already been authorized. */
static int check_switch(struct call *c)
{
        const char *name = c->words[0];
        struct refusal no;
        struct facts f;
        int r;

        c->value = DRIVER_NONE;
        if (*name)
                c->value = driver_from_string(name);
        if (*name && c->value != DRIVER_UAS && c->value != DRIVER_USB_STORAGE)
                return bus_error_set(c->error, SD_BUS_ERROR_INVALID_ARGS,
                                     "No such driver to switch to: %s", name);
        r = call_refuse_stopping(c);
        if (r < 0)
                return r;
        r = call_leased(c);
        if (r < 0)
                return r;
        c->authorized = r && !c->force;
        if (r) /* check_lease() requires that the disk can have both */
                return 0;
        facts_now(c->entry, &f);
        refuse_switch(&f, (enum driver) c->value, c->force, &no);
        return call_refuse(c, &no);
}

/* uasd records what users ask for in /run. */
static int call_fail_unkept(struct call *c, int r)
{
        bus_call_fail_errno(call_handle(c), r, "The record in /run/uasd cannot be changed: %s",
                            strerror(-r));
        return 0;
}

static int do_switch(struct call *c)
{
        char job[JOB_PATH_MAX];
        int r = request_switch(c->entry, (enum driver) c->value, c->force);

        if (r < 0)
                return call_fail_unkept(c, r);
        return sd_bus_reply_method_return(c->message, "o", bus_job_path(c->entry, job));
}

static int call_refuse_trim(const struct call *c, enum trim_offer offer)
{
        const struct facts *f = &c->entry->life.disk.facts;

        if (c->force)
                return bus_error_set(
                        c->error, UASD_BUS_ERROR_REFUSED,
                        "%s: the kernel cannot use TRIM on this disk now: it shows no provisioning_mode.",
                        f->interface);
        if (offer == TRIM_OFFER_UNKNOWN && f->driver == DRIVER_USB_STORAGE && facts_offer_uas(f))
                return bus_error_set(
                        c->error, UASD_BUS_ERROR_REFUSED,
                        "%s: under usb-storage uasd cannot see whether the disk offers TRIM. Switch it to uas first, or force it.",
                        f->interface);
        if (offer == TRIM_OFFER_UNKNOWN && f->driver == DRIVER_USB_STORAGE)
                return bus_error_set(
                        c->error, UASD_BUS_ERROR_REFUSED,
                        "%s: under usb-storage uasd cannot see whether the disk offers TRIM. If you force it, a "
                        "bridge that cannot do it may lose data.",
                        f->interface);
        return bus_error_set(
                c->error, UASD_BUS_ERROR_REFUSED,
                "%s: the disk does not offer TRIM (LBPU). If you force it, a bridge that cannot do it "
                "may lose data.",
                f->interface);
}

static int check_trim(struct call *c)
{
        c->value = streq(c->words[0], "on");
        if (c->value || streq(c->words[0], "off"))
                return 0;
        return bus_error_set(c->error, SD_BUS_ERROR_INVALID_ARGS, "TRIM is on or off, not %s",
                             c->words[0]);
}

static int do_trim(struct call *c)
{
        enum trim_offer offer = TRIM_OFFER_UNKNOWN;
        int r = request_trim(c->entry, c->value, c->force, call_handle(c), &offer);

        if (r == -EOPNOTSUPP)
                return call_refuse_trim(c, offer);
        return r;
}

static int call_answer(struct call *c, int r)
{
        if (r == -EBUSY)
                return bus_error_set(
                        c->error, UASD_BUS_ERROR_REFUSED,
                        "%s is being switched, and a switch is not stopped in the middle. A request made "
                        "meanwhile is carried out next.",
                        c->entry->life.disk.facts.interface);
        bus_call_return_later(c->manager, call_handle(c), NULL);
        return 0;
}

static int do_release(struct call *c)
{
        int r = request_release(c->entry);

        if (r >= 0 || r == -EBUSY)
                return call_answer(c, r);
        bus_call_fail_errno(call_handle(c), r, "The disk cannot be released: %s", strerror(-r));
        return 0;
}

static int do_cancel(struct call *c)
{
        int r = request_cancel(c->entry);

        if (r >= 0 || r == -EBUSY)
                return call_answer(c, r);
        return call_fail_unkept(c, r);
}

static int check_policy(struct call *c)
{
        struct refusal no;
        struct facts f;

        c->value = policy_from_string(c->words[0]);
        if (c->value < 0)
                return bus_error_set(c->error, SD_BUS_ERROR_INVALID_ARGS, "No such policy: %s",
                                     c->words[0]);
        if (!c->entry)
                return 0;
        facts_now(c->entry, &f);
        refuse_policy(&f, (enum policy) c->value, c->force, &no);
        return call_refuse(c, &no);
}

static int do_policy(struct call *c)
{
        return request_policy(c->manager, c->entry, c->id, (enum policy) c->value, c->force,
                              call_handle(c));
}

static int do_forget(struct call *c)
{
        return request_forget(c->manager, c->entry, c->id, call_handle(c));
}

static int check_eject(struct call *c)
{
        int r;

        r = call_refuse_stopping(c);
        if (r < 0)
                return r;
        r = call_refuse_starting(c);
        if (r < 0)
                return r;
        if (c->entry->life.disk.state == STATE_HELD)
                return bus_error_set(c->error, UASD_BUS_ERROR_IN_USE,
                                     "%s is held, and about to be mounted.",
                                     c->entry->life.disk.facts.interface);
        if (switch_ejects(c->entry))
                return bus_error_set(c->error, UASD_BUS_ERROR_IN_USE,
                                     "%s is being ejected already.",
                                     c->entry->life.disk.facts.interface);
        return call_leased(c);
}

/* These last as long as the caller has its end of a pipe. */

static int do_inhibit(struct call *c)
{
        _cleanup_close_ int fd = -1; /* the message has its own copy */
        const char *disk = c->entry ? c->entry->life.disk.facts.interface : "";
        int r = inhibit_add(c->manager, disk, c->words[0], c->words[1], &fd);

        if (r == -EBUSY)
                return bus_error_set(c->error, SD_BUS_ERROR_LIMITS_EXCEEDED,
                                     "There are too many inhibitors already.");
        if (r < 0)
                return r;
        return sd_bus_reply_method_return(c->message, "h", fd);
}

static int check_lease(struct call *c)
{
        const struct disk *d = &c->entry->life.disk;
        const char *id = d->facts.interface;
        int r;

        r = call_refuse_stopping(c);
        if (r < 0)
                return r;
        r = call_refuse_impossible(c, DRIVER_USB_STORAGE);
        if (r < 0)
                return r;
        if (d->facts.driver != DRIVER_UAS && d->facts.driver != DRIVER_USB_STORAGE)
                return bus_error_set(c->error, UASD_BUS_ERROR_REFUSED,
                                     "%s has no driver to measure.", id);
        if (c->entry->lease)
                return bus_error_set(c->error, UASD_BUS_ERROR_IN_USE, "%s is leased: %s", id,
                                     d->lease);
        r = call_refuse_starting(c);
        if (r < 0)
                return r;
        if (d->state == STATE_HELD || d->state == STATE_SWITCHING || c->entry->request.number)
                return bus_error_set(c->error, UASD_BUS_ERROR_IN_USE,
                                     "%s: a switch of it is under way or has been asked for.", id);
        return 0;
}

static const struct method {
        const char *name;
        const char *verb; /* of uasctl */
        const char *may;  /* the action of polkit, without force */
        /* refuses for reasons that do not depend on the user; may be NULL */
        int (*check)(struct call *c);
        int (*perform)(struct call *c);
        int (*begin)(struct entry *e, struct bus_call *call); /* or this: the answer comes later */
        const char *other_seat; /* the action for a disk of another seat; NULL: the same */
        bool by_id;             /* of the manager, for a disk that need not be plugged in */
        bool takes_force;       /* it has this option */
} methods[] = {
        /* clang-format off */
        {"Switch", "switch", MAY_SWITCH, check_switch, do_switch, .takes_force = true},
        {"SetPolicy", "policy", MAY_POLICY, check_policy, do_policy, .takes_force = true},
        {"SetPolicyOf", "policy", MAY_POLICY, check_policy, do_policy, .by_id = true, .takes_force = true},
        {"SetTrim", "trim", MAY_POLICY, check_trim, do_trim, .takes_force = true},
        {"Release", "release", MAY_SWITCH, NULL, do_release},
        {"Cancel", "cancel", MAY_SWITCH, NULL, do_cancel},
        {"Forget", "forget", MAY_POLICY, NULL, do_forget},
        {"ForgetOf", "forget", MAY_POLICY, NULL, do_forget, .by_id = true},
        {"Eject", "eject", MAY_EJECT, check_eject, .begin = switch_eject, .other_seat = MAY_EJECT_OTHER},
        {"Inhibit", "inhibit", MAY_SWITCH, NULL, do_inhibit},
        {"Lease", "bench", MAY_BENCH, check_lease, .begin = lease_new},
        /* clang-format on */
};

static int method_call(sd_bus_message *message, void *data, sd_bus_error *error);

static int method_answer(sd_bus_message *message, void *data, sd_bus_error *error)
{
        struct call c = {.manager = data, .message = message, .error = error};
        const struct method *of = methods;
        uid_t uid;
        int r;

        while (!streq(of->name, sd_bus_message_get_member(message)))
                of++; /* each method of the vtables has its row */
        r = call_read_arguments(&c, of->by_id, of->takes_force);
        if (r < 0)
                return r;
        r = of->by_id ? call_find_id(&c) : call_find(&c);
        if (r < 0)
                return r;
        if (of->check)
                r = of->check(&c);
        if (r < 0)
                return r;
        if (!c.authorized) {
                r = polkit_may(data, message, c.force ? MAY_FORCE : of->may, of->other_seat,
                               c.entry, method_call, &uid, error);
                if (r < 0)
                        return r;
                if (r == 0)
                        return 1;
                report_asked(c.entry, c.id, uid, of->verb, c.force, c.words[0]);
        }
        if (of->begin)
                r = of->begin(c.entry, call_handle(&c));
        else
                r = of->perform(&c);
        if (r < 0)
                return r;
        return 1;
}

/* A handler for all of them. polkit's answer calls it again. */
static int method_call(sd_bus_message *message, void *data, sd_bus_error *error)
{
        int r = method_answer(message, data, error);

        if (r < 0 && sd_bus_error_is_set(error))
                return bus_error_send(message, error);
        return r;
}

/* The object is a disk or a job. */
static int method_call_entry(sd_bus_message *message, void *data, sd_bus_error *error)
{
        return method_call(message, ((struct entry *) data)->manager, error);
}

/*
 * Unprivileged: each caller gets to polkit_may(). For a method without this flag sd-bus itself
 * demands CAP_SYS_ADMIN: a safe default.
 */
#define METHOD(member, args, result, handler)                                                      \
        SD_BUS_METHOD_WITH_ARGS(member, SD_BUS_ARGS(args), SD_BUS_RESULT(result), handler,         \
                                SD_BUS_VTABLE_UNPRIVILEGED)
#define OPTIONS "a{sv}", options
#define STORED SD_BUS_RESULT("a{sv}", result)

const sd_bus_vtable bus_manager_methods[] = {
        SD_BUS_VTABLE_START(0),
        METHOD("SetPolicyOf", SD_BUS_ARGS("s", id, "s", policy, OPTIONS), STORED, method_call),
        METHOD("ForgetOf", SD_BUS_ARGS("s", id, OPTIONS), STORED, method_call),
        METHOD("Inhibit", SD_BUS_ARGS("s", who, "s", why, OPTIONS), SD_BUS_RESULT("h", lock),
               method_call),
        SD_BUS_VTABLE_END,
};

#define METHOD_OF_DISK(member, args, result)                                                       \
        METHOD(member, SD_BUS_ARGS(args), SD_BUS_RESULT(result), method_call_entry)

const sd_bus_vtable bus_disk_methods[] = {
        SD_BUS_VTABLE_START(0),
        METHOD_OF_DISK("Switch", SD_BUS_ARGS("s", target, OPTIONS), SD_BUS_RESULT("o", job)),
        METHOD_OF_DISK("SetPolicy", SD_BUS_ARGS("s", policy, OPTIONS), STORED),
        METHOD_OF_DISK("SetTrim", SD_BUS_ARGS("s", trim, OPTIONS), STORED),
        METHOD_OF_DISK("Release", SD_BUS_ARGS(OPTIONS), SD_BUS_NO_RESULT),
        METHOD_OF_DISK("Cancel", SD_BUS_ARGS(OPTIONS), SD_BUS_NO_RESULT),
        METHOD_OF_DISK("Forget", SD_BUS_ARGS(OPTIONS), STORED),
        METHOD_OF_DISK("Eject", SD_BUS_ARGS(OPTIONS), SD_BUS_NO_RESULT),
        METHOD_OF_DISK("Inhibit", SD_BUS_ARGS("s", who, "s", why, OPTIONS),
                       SD_BUS_RESULT("h", lock)),
        METHOD_OF_DISK("Lease", SD_BUS_ARGS(OPTIONS), SD_BUS_RESULT("h", lease)),
        SD_BUS_VTABLE_END,
};

const sd_bus_vtable bus_job_methods[] = {
        SD_BUS_VTABLE_START(0),
        METHOD_OF_DISK("Cancel", SD_BUS_ARGS(OPTIONS), SD_BUS_NO_RESULT),
        SD_BUS_VTABLE_END,
};
