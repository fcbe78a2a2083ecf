/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/bus/methods.h"

#include "common/log.h"
#include "common/names.h"
#include "common/util.h"
#include "core/request.h"
#include "daemon/bus/announce.h"
#include "daemon/bus/polkit.h"
#include "daemon/feature/keepoff.h"
#include "daemon/feature/requests.h"
#include "daemon/queue.h"
#include "daemon/work/records.h"
#include "sys/state/policy-list.h"

/* org.uasd1.Manager: disks by "VID:PID:SERIAL", also if they are not plugged in. */

/* Returns NULL if it is not plugged in. */
static struct entry *find_id(struct manager *m, const char *id)
{
        char usb_id[USB_ID_MAX], key[HISTORY_KEY_MAX];

        for (size_t i = 0; i < m->n_entries; i++) {
                const struct facts *f = &m->entries[i]->life.disk.facts;

                if (streq(id, history_usb_id(f, usb_id, sizeof(usb_id))) || streq(id, history_key(f, key, sizeof(key))))
                        return m->entries[i];
        }
        return NULL;
}

static int check_id(const char *id, sd_bus_error *error)
{
        char normal[HISTORY_KEY_MAX];

        return history_id_parse(id, normal, sizeof(normal)) && streq(id, normal)
                       ? 0
                       : sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS, "That is no VID:PID:SERIAL.");
}

/* The quirks parameter is updated before the caller gets the answer. */
static void answer(struct manager *m, const struct record_task *rec)
{
        keepoff_forget(m, rec->id);
        (void) queue_answer(m, rec->call);
}

static void policy_kept(struct manager *m, struct entry *e, const struct record_task *rec, int r)
{
        if (r < 0) {
                (void) sd_bus_reply_method_errnof(rec->call, -r, "Cannot store the policy: %s", strerror(-r));
                return;
        }
        log_info("%s, not plugged in: policy is %s now", rec->id, policy_to_string(rec->policy));
        answer(m, rec);
}

static void forgotten(struct manager *m, struct entry *e, const struct record_task *rec, int r)
{
        if (r == -ENOENT)
                (void) sd_bus_reply_method_errorf(rec->call, UASD_BUS_ERROR_NO_SUCH_DISK,
                                                  "%s is not plugged in, and has no history.", rec->id);
        else if (r < 0)
                (void) sd_bus_reply_method_errnof(rec->call, -r, "Cannot clear its history: %s", strerror(-r));
        if (r < 0)
                return;
        log_info("%s, not plugged in: its history is forgotten", rec->id);
        answer(m, rec);
}

/* id: already checked. */
static int keep(struct manager *m, struct record_task *rec, const char *id, sd_bus_message *call)
{
        int r;

        (void) copy_string(rec->id, sizeof(rec->id), id);
        rec->call = call;
        r = record_add(m, NULL, rec);
        return r < 0 ? r : 1;
}

static int set_policy(sd_bus_message *message, struct entry *e, const char *policy, bool force, method_fn method,
                      sd_bus_error *error)
{
        struct manager *m = e->manager;
        struct refusal no;
        struct facts f;
        int p = policy_from_string(policy), r;

        if (p < 0)
                return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS, "No such policy: %s", policy);
        bus_facts_now(e, &f);
        refuse_policy(&f, (enum policy) p, force, &no);
        r = bus_refuse(e, &no, error);
        if (r < 0)
                return r;
        r = polkit_may(m, message, force ? MAY_FORCE : MAY_POLICY, e, method, error);
        if (r <= 0)
                return r < 0 ? r : 1;
        r = request_policy(e, (enum policy) p, force, message);
        return r < 0 ? r : 1;
}

int bus_method_set_policy(sd_bus_message *message, void *data, sd_bus_error *error)
{
        struct entry *e;
        const char *name;
        bool force = false;
        int r = bus_read_wish(message, data, &e, &name, &force, error);

        return r < 0 ? r : set_policy(message, e, name, force, bus_method_set_policy, error);
}

int bus_method_set_policy_of(sd_bus_message *message, void *data, sd_bus_error *error)
{
        struct manager *m = data;
        const char *id, *word;
        struct entry *e;
        bool force = false;
        int p, r = sd_bus_message_read(message, "ss", &id, &word);

        if (r >= 0)
                r = bus_read_options(message, &force, error);
        if (r >= 0)
                r = check_id(id, error);
        if (r < 0)
                return r;
        e = find_id(m, id);
        if (e)
                return set_policy(message, e, word, force, bus_method_set_policy_of, error);
        p = policy_from_string(word);
        if (p < 0)
                return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS, "No such policy: %s", word);
        r = polkit_may(m, message, force ? MAY_FORCE : MAY_POLICY, NULL, bus_method_set_policy_of, error);
        if (r <= 0)
                return r < 0 ? r : 1;
        return keep(
                m,
                &(struct record_task){.type = RECORD_POLICY_ID, .policy = (enum policy) p, .force = force, .done = policy_kept},
                id, message);
}

int bus_method_forget_of(sd_bus_message *message, void *data, sd_bus_error *error)
{
        struct manager *m = data;
        struct entry *e;
        const char *id;
        int r = sd_bus_message_read(message, "s", &id);

        if (r >= 0)
                r = check_id(id, error);
        if (r < 0)
                return r;
        e = find_id(m, id);
        r = polkit_may(m, message, MAY_POLICY, e, bus_method_forget_of, error);
        if (r <= 0)
                return r < 0 ? r : 1;
        if (!e)
                return keep(m, &(struct record_task){.type = RECORD_FORGET_ID, .done = forgotten}, id, message);
        r = request_forget(e, message);
        return r < 0 ? r : 1;
}

static int append_row(sd_bus_message *reply, const struct policy_row *row)
{
        int r = sd_bus_message_open_container(reply, 'r', "ssbsas");

        if (r >= 0)
                r = bus_append_text(reply, row->id);
        if (r >= 0)
                r = sd_bus_message_append(reply, "sbs", policy_to_string(row->policy), row->forced,
                                          policy_source_to_string(row->source));
        if (r >= 0)
                r = sd_bus_message_append_strv(reply, row->disks);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

static int list(struct manager *m, struct policy_rows *ret)
{
        _cleanup_free_ const struct facts **plugged = calloc(m->n_entries + 1, sizeof(*plugged));

        if (!plugged)
                return -ENOMEM;
        for (size_t i = 0; i < m->n_entries; i++)
                plugged[i] = &m->entries[i]->life.disk.facts;
        return policy_list(&m->roots, &m->config, plugged, m->n_entries, ret);
}

int bus_method_list_policies(sd_bus_message *message, void *data, sd_bus_error *error)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        _cleanup_(policy_rows_done) struct policy_rows rows = {0};
        int r = list(data, &rows);

        if (r >= 0)
                r = sd_bus_message_new_method_return(message, &reply);
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'a', "(ssbsas)");
        for (size_t i = 0; r >= 0 && i < rows.n; i++)
                r = append_row(reply, rows.list + i);
        if (r >= 0)
                r = sd_bus_message_close_container(reply);
        return r < 0 ? r : sd_bus_send(NULL, reply, NULL);
}
