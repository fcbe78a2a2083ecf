/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/bus/error.h"
#include "daemon/bus/methods.h"

#include <systemd/sd-login.h>

#include "common/names.h"
#include "sys/io/sysfs.h"
#include "sys/udev/udevdb.h"

#define POLKIT_NAME "org.freedesktop.PolicyKit1"
#define POLKIT_PATH "/org/freedesktop/PolicyKit1/Authority"
#define POLKIT_INTERFACE "org.freedesktop.PolicyKit1.Authority"
#define POLKIT_INTERACTION 1U /* AllowUserInteraction */

/* Each question may wait for a password. More questions of one user at once are abuse, and only
 * that user is refused. */
#define QUESTIONS_MAX 16U

struct question {
        LIST_ENTRY(question) link;
        struct manager *manager;
        sd_bus_message *message; /* the call to be answered */
        sd_bus_slot *slot;
        method_fn method;
        const char *action;
        /* the action for a user who does not sit where the disk is plugged in; NULL: the same */
        const char *other_seat;
        char disk[INTERFACE_NAME_MAX]; /* "": any */
        struct attachment_id attachment;
        bool at_polkit;
        uid_t uid;            /* valid at the end */
        uid_t login;          /* the same, or with sudo the user who logged in */
        bool at_end;          /* polkit has answered */
        bool allowed;         /* only by root's user number or polkit's verdict */
        sd_bus_error refused; /* why not */
};

static void question_free(struct question *q)
{
        LIST_REMOVE(q, link);
        sd_bus_slot_unref(q->slot);
        sd_bus_message_unref(q->message);
        sd_bus_error_free(&q->refused);
        free(q);
}

static int question_call_method(struct question *q, sd_bus_error *error)
{
        int r = sd_bus_message_rewind(q->message, 1);

        if (r < 0)
                return r;
        if (q->disk[0] && !disk_find(q->manager, q->disk))
                return bus_error_set(error, UASD_BUS_ERROR_NO_SUCH_DISK,
                                     "%s was unplugged meanwhile.", q->disk);
        return q->method(q->message, q->manager, error);
}

/* Calls the method again, as sd-bus does it. */
static void question_call_again(struct question *q)
{
        sd_bus_error error = SD_BUS_ERROR_NULL;
        int r = question_call_method(q, &error);

        if (r < 0 || sd_bus_error_is_set(&error))
                (void) sd_bus_reply_method_errno(q->message, r, &error);
        sd_bus_error_free(&error);
        question_free(q);
}

static void questions_call_again(struct manager *m, void *data)
{
        for (struct question *q = LIST_FIRST(&m->questions), *next; q; q = next) {
                next = LIST_NEXT(q, link);
                if (q->at_end)
                        question_call_again(q);
        }
}

/* For a handler of sd-bus. */
static int question_answered(struct question *q)
{
        q->at_end = true;
        if (q->disk[0]) /* also if an event of the kernel is still on its way */
                queue_rescan(q->manager, q->disk);
        queue_call(q->manager, questions_call_again, NULL);
        return 0;
}

static int question_read_verdict(sd_bus_message *reply, int *ret_may, int *ret_challenge)
{
        int r = sd_bus_message_enter_container(reply, 'r', "bba{ss}");

        if (r < 0)
                return r;
        return sd_bus_message_read(reply, "bb", ret_may, ret_challenge);
}

static int question_on_verdict(sd_bus_message *reply, void *data, sd_bus_error *error)
{
        struct question *q = data;
        int may = false, challenge = false, r;

        if (sd_bus_message_is_method_error(reply, NULL)) {
                (void) bus_error_set(&q->refused, SD_BUS_ERROR_ACCESS_DENIED,
                                     "Only root may do that, because polkit does not answer: %s",
                                     sd_bus_message_get_error(reply)->message ?: "no reason given");
                return question_answered(q);
        }
        r = question_read_verdict(reply, &may, &challenge);
        if (r < 0)
                (void) bus_error_set(&q->refused, SD_BUS_ERROR_FAILED,
                                     "polkit's answer is not understood: %s", strerror(-r));
        else if (may)
                q->allowed = true;
        else if (challenge)
                (void) bus_error_set(
                        &q->refused, SD_BUS_ERROR_INTERACTIVE_AUTHORIZATION_REQUIRED,
                        "a password is needed, and no agent can ask for it (polkit action %s).",
                        q->action);
        else
                (void) bus_error_set(&q->refused, SD_BUS_ERROR_ACCESS_DENIED,
                                     "polkit does not allow it (action %s).", q->action);
        return question_answered(q);
}

/* Without a timeout: a user may need time for the password. If the connection ends, sd-bus answers
 * with an error. */
static int question_ask_polkit(struct question *q)
{
        sd_bus *bus = sd_bus_message_get_bus(q->message);
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        unsigned flags = 0;
        int r;

        if (sd_bus_message_get_allow_interactive_authorization(q->message) > 0)
                flags = POLKIT_INTERACTION;
        q->slot = sd_bus_slot_unref(q->slot);
        r = sd_bus_message_new_method_call(bus, &call, POLKIT_NAME, POLKIT_PATH, POLKIT_INTERFACE,
                                           "CheckAuthorization");
        if (r < 0)
                return r;
        r = sd_bus_message_append(call, "(sa{sv})sa{ss}us", "system-bus-name", 1, "name", "s",
                                  sd_bus_message_get_sender(q->message), q->action, 1, "disk",
                                  q->disk[0] ? q->disk : "*", flags, "");
        if (r < 0)
                return r;
        return sd_bus_call_async(bus, &q->slot, call, question_on_verdict, q, UINT64_MAX);
}

static bool question_too_many(const struct question *asking)
{
        const struct question *q;
        size_t open = 0;

        LIST_FOREACH (q, &asking->manager->questions, link)
                open += q->at_polkit && q->uid == asking->uid;
        return open >= QUESTIONS_MAX;
}

/* Without logind no user is known to sit anywhere. A device without ID_SEAT belongs to seat0. */
static bool question_at_its_seat(const struct question *q)
{
        const struct entry *e = disk_find(q->manager, q->disk);
        char id[UDEVDB_ID_MAX], seat[64] = "seat0";
        uid_t active;

        if (!e || !udevdb_usb_id(&q->manager->roots, e->life.disk.facts.port, id) ||
            udevdb_property(&q->manager->roots, id, "ID_SEAT", seat, sizeof(seat)) < 0)
                return false;
        return sd_seat_get_active(seat, NULL, &active) >= 0 && active == q->uid;
}

/* The user who asks, and the process, or 0. */
static int question_read_credentials(sd_bus_message *reply, uint32_t *ret_uid, uint32_t *ret_pid)
{
        uint32_t uid = UINT32_MAX, pid = 0;
        int r = sd_bus_message_enter_container(reply, 'a', "{sv}");

        if (r < 0)
                return r;
        while ((r = sd_bus_message_enter_container(reply, 'e', "sv")) > 0) {
                const char *key;

                r = sd_bus_message_read(reply, "s", &key);
                if (r < 0)
                        return r;
                if (streq(key, "UnixUserID"))
                        r = sd_bus_message_read(reply, "v", "u", &uid);
                else if (streq(key, "ProcessID"))
                        r = sd_bus_message_read(reply, "v", "u", &pid);
                else
                        r = sd_bus_message_skip(reply, "v");
                if (r < 0)
                        return r;
                r = sd_bus_message_exit_container(reply);
                if (r < 0)
                        return r;
        }
        if (r < 0)
                return r;
        if (uid == UINT32_MAX)
                return -ENODATA;
        *ret_uid = uid;
        *ret_pid = pid;
        return 0;
}

/* Only for the log: the process may have ended meanwhile. */
static uid_t login_of_root(const struct manager *m, uint32_t pid)
{
        char path[32];
        uint64_t login;

        (void) snprintf(path, sizeof(path), "%u/loginuid", pid);
        if (attr_read_uint(m->roots.proc, path, 10, &login) < 0 || login >= UINT32_MAX)
                return 0;
        return (uid_t) login;
}

/* Returns 1 if polkit has been asked, 0 if the question has its answer, or -errno. */
static int question_take_user(struct question *q, sd_bus_message *reply)
{
        uint32_t uid, pid;
        int r;

        if (sd_bus_message_is_method_error(reply, NULL))
                return -ESRCH;
        r = question_read_credentials(reply, &uid, &pid);
        if (r < 0)
                return r;
        if (uid == 0) {
                q->allowed = true;
                q->login = login_of_root(q->manager, pid);
                return 0;
        }
        q->uid = q->login = uid;
        if (question_too_many(q)) {
                (void) bus_error_set(&q->refused, SD_BUS_ERROR_LIMITS_EXCEEDED,
                                     "Too many of your requests wait for a password already.");
                return 0;
        }
        if (q->other_seat && !question_at_its_seat(q))
                q->action = q->other_seat;
        r = question_ask_polkit(q);
        if (r < 0)
                return r;
        q->at_polkit = true;
        return 1;
}

static int question_on_user(sd_bus_message *reply, void *data, sd_bus_error *error)
{
        struct question *q = data;
        int r = question_take_user(q, reply);

        if (r > 0)
                return 0;
        if (r < 0)
                (void) bus_error_set(&q->refused, SD_BUS_ERROR_ACCESS_DENIED,
                                     "Cannot find out which user asks: %s", strerror(-r));
        return question_answered(q);
}

static struct question *polkit_question_find(const struct manager *m, const sd_bus_message *message)
{
        struct question *q;

        LIST_FOREACH (q, &m->questions, link)
                if (q->message == message)
                        return q;
        return NULL;
}

/* The permission is only for the attachment that the question was about. Without one it was about
 * all disks, or an id. */
static int question_answer(const struct question *q, const struct entry *e, uid_t *ret_uid,
                           sd_bus_error *error)
{
        if (!q->allowed) {
                (void) sd_bus_error_copy(error, &q->refused);
                return -EACCES;
        }
        if (e && q->disk[0] &&
            !attachment_id_same(facts_attachment_id(&e->life.disk.facts), q->attachment))
                return bus_error_set(
                        error, UASD_BUS_ERROR_NO_SUCH_DISK,
                        "%s is another disk now: the first one was unplugged meanwhile.", q->disk);
        *ret_uid = q->login;
        return 1;
}

int polkit_may(struct manager *m, sd_bus_message *message, const char *action,
               const char *other_seat, const struct entry *e, method_fn method, uid_t *ret_uid,
               sd_bus_error *error)
{
        sd_bus *bus = sd_bus_message_get_bus(message);
        struct question *q = polkit_question_find(m, message);
        int r;

        if (q) /* the method is called again */
                return question_answer(q, e, ret_uid, error);
        *ret_uid = 0;
        /* Only root can connect to the private socket. */
        if (sd_bus_is_bus_client(bus) <= 0)
                return 1;
        q = calloc(1, sizeof(*q));
        if (!q)
                return -ENOMEM;
        *q = (struct question){.manager = m,
                               .message = sd_bus_message_ref(message),
                               .method = method,
                               .action = action,
                               .other_seat = other_seat};
        if (e) {
                (void) copy_string(q->disk, sizeof(q->disk), e->life.disk.facts.interface);
                q->attachment = facts_attachment_id(&e->life.disk.facts);
        }
        LIST_INSERT_HEAD(&m->questions, q, link);
        r = sd_bus_call_method_async(bus, &q->slot, "org.freedesktop.DBus", "/org/freedesktop/DBus",
                                     "org.freedesktop.DBus", "GetConnectionCredentials",
                                     question_on_user, q, "s", sd_bus_message_get_sender(message));
        if (r < 0) {
                question_free(q);
                return r;
        }
        return 0;
}
