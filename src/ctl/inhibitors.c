/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/inhibitors.h"

#include "common/names.h"
#include "term/json.h"
#include "term/style.h"
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

static int add(struct inhibitors *i, const char *disk, const char *who, const char *why)
{
        struct inhibiting *grown = reallocarray(i->list, i->n + 1, sizeof(*grown)), *one;

        if (!grown)
                return -ENOMEM;
        i->list = grown;
        one = &grown[i->n++];
        *one = (struct inhibiting){strdup(disk), strdup(who), strdup(why)};
        return one->disk && one->who && one->why ? 0 : -ENOMEM;
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
                k = add(&all, disk, who, why);
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
                json_object *o = json_new();

                put_string_or_null(o, "disk", i->list[k].disk);
                put_string(o, "who", i->list[k].who);
                put_string(o, "why", i->list[k].why);
                append(list, o);
        }
        return json_document("inhibitors", list);
}

enum { COLUMN_DISK, COLUMN_WHO, COLUMN_WHY };

static const struct table_column columns[] = {
        [COLUMN_DISK] = {"DISK", 0},
        [COLUMN_WHO] = {"WHO", 0},
        [COLUMN_WHY] = {"WHY", SCOLS_FL_WRAP},
};

/* The daemon has made them harmless; that it is ours to believe so is no reason. */
static int add_line(struct libscols_table *t, const struct inhibiting *i)
{
        struct libscols_line *line = scols_table_new_line(t, NULL);
        char who[512], why[1024];
        int r;

        if (!line)
                return -ENOMEM;
        r = scols_line_set_data(line, COLUMN_DISK, *i->disk ? i->disk : "any");
        if (r == 0)
                r = scols_line_set_data(line, COLUMN_WHO, harmless_sentence(i->who, who, sizeof(who)));
        if (r == 0)
                r = scols_line_set_data(line, COLUMN_WHY, *i->why ? harmless_sentence(i->why, why, sizeof(why)) : "-");
        return r;
}

int inhibitors_table(const struct inhibitors *i, bool legend)
{
        struct libscols_table *t = table_new(columns, ELEMENTSOF(columns), legend);
        int r = 0;

        for (size_t k = 0; t && k < i->n && r == 0; k++)
                r = add_line(t, &i->list[k]);
        return table_print(t, r);
}
