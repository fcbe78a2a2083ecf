/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/bus/methods.h"

#include "core/history.h"
#include "daemon/bus/announce.h"
#include "sys/state/policy-list.h"

/* org.uasd1.Manager: disks by "VID:PID:SERIAL", also if they are not plugged in. */

int bus_find_id(struct call *c)
{
        const struct manager *m = c->manager;
        const char *id = c->words[0];
        char usb_id[USB_ID_MAX], key[HISTORY_KEY_MAX];

        if (!history_id_parse(id, key, sizeof(key)) || !streq(id, key))
                return sd_bus_error_set(c->error, SD_BUS_ERROR_INVALID_ARGS, "That is no VID:PID:SERIAL.");
        for (size_t i = 0; i < m->n_entries && !c->entry; i++) {
                const struct facts *f = &m->entries[i]->life.disk.facts;

                if (streq(id, history_usb_id(f, usb_id, sizeof(usb_id))) || streq(id, history_key(f, key, sizeof(key))))
                        c->entry = m->entries[i];
        }
        return 0;
}

int bus_check_policy(struct call *c)
{
        struct refusal no;
        struct facts f;

        c->value = policy_from_string(c->words[1]);
        if (c->value < 0)
                return sd_bus_error_setf(c->error, SD_BUS_ERROR_INVALID_ARGS, "No such policy: %s", c->words[1]);
        if (!c->entry)
                return 0;
        bus_facts_now(c->entry, &f);
        refuse_policy(&f, (enum policy) c->value, c->force, &no);
        return bus_refuse(c, &no);
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
