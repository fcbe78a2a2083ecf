/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/inhibitors.h"

#include "common/names.h"
#include "term/json.h"
#include "term/program.h"
#include "term/table.h"

void inhibitors_done(struct inhibitors *i)
{
        for (size_t k = 0; k < i->n; k++) {
                free(i->list[k].disk);
                free(i->list[k].who);
                free(i->list[k].why);
        }
        free(i->list);
        *i = (struct inhibitors){};
}

static void add(struct inhibitors *i, const char *disk, const char *who, const char *why)
{
        i->list = need(reallocarray(i->list, i->n + 1, sizeof(*i->list)));
        i->list[i->n++] = (struct inhibiting){need(strdup(disk)), need(strdup(who)), need(strdup(why))};
}

int inhibitors_read(struct remote *r, struct inhibitors *ret)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        _cleanup_(inhibitors_done) struct inhibitors all = {};
        const char *disk, *who, *why;
        int k;

        k = sd_bus_get_property(r->bus, UASD_BUS_NAME, UASD_BUS_PATH, UASD_BUS_MANAGER, "Inhibitors", NULL, &reply, "a(sss)");
        if (k >= 0)
                k = sd_bus_message_enter_container(reply, 'a', "(sss)");
        while (k >= 0 && (k = sd_bus_message_read(reply, "(sss)", &disk, &who, &why)) > 0)
                add(&all, disk, who, why);
        if (k < 0)
                return k == -ETIMEDOUT ? k : k == -EBADR ? -ENOSYS : -ENOTCONN;
        *ret = all;
        all = (struct inhibitors){};
        return 0;
}

json_object *json_inhibitors(const struct inhibitors *i)
{
        json_object *list = json_list();

        for (size_t k = 0; k < i->n; k++) {
                json_object *o = append_new(list);

                put_string_or_null(o, "disk", i->list[k].disk);
                put_string(o, "who", i->list[k].who);
                put_string(o, "why", i->list[k].why);
        }
        return json_document("inhibitors", list);
}

static const struct table_column columns[] = {{"DISK"}, {"WHO"}, {"WHY", SCOLS_FL_WRAP}};

/* The daemon has made the texts harmless. uasctl does not rely on that. */
int inhibitors_table(const struct inhibitors *i, bool legend)
{
        struct libscols_table *t = table_new(columns, ELEMENTSOF(columns), legend);

        for (size_t k = 0; k < i->n; k++) {
                const struct inhibiting *one = &i->list[k];
                char who[512], why[1024];

                (void) harmless_sentence(one->who, who, sizeof(who));
                (void) harmless_sentence(one->why, why, sizeof(why));
                (void) table_row(t, NULL, (const char *const[]){*one->disk ? one->disk : "any", who, *why ? why : "-"});
        }
        return table_print(t, 0);
}
