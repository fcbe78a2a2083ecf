/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/state/policy-list.h"

#include "common/util.h"
#include "core/history.h"
#include "sys/state/policies.h"

void policy_rows_done(struct policy_rows *p)
{
        for (size_t i = 0; i < p->n; i++) {
                free(p->list[i].id);
                strv_free(p->list[i].disks);
        }
        free(p->list);
        *p = (struct policy_rows){0};
}

struct policy_row *policy_rows_add(struct policy_rows *p, const char *id, enum policy policy, bool forced,
                                   enum policy_source source)
{
        struct policy_row row = {.id = strdup(id), .policy = policy, .forced = forced, .source = source};

        if (row.id && list_push(p->list, p->n, row))
                return p->list + p->n - 1;
        free(row.id);
        return NULL;
}

struct listing {
        const struct facts *const *plugged;
        size_t n_plugged;
        struct policy_rows rows;
};

/* id: "VID:PID", "VID:PID:SERIAL", "VID:PID:SERIAL@PORT", or "*" for every disk. */
static bool is_of(const struct facts *f, const char *id)
{
        char key[HISTORY_KEY_MAX], usb_id[USB_ID_MAX], bridge[16];

        (void) snprintf(bridge, sizeof(bridge), "%04x:%04x", f->vid, f->pid);
        return streq(id, "*") || streq(id, bridge) || streq(id, history_usb_id(f, usb_id, sizeof(usb_id))) ||
               streq(id, history_key(f, key, sizeof(key)));
}

static int add(struct listing *l, const char *id, enum policy policy, bool forced, enum policy_source source)
{
        struct policy_row *row = policy_rows_add(&l->rows, id, policy, forced, source);
        int k = row ? 0 : -ENOMEM;

        for (size_t i = 0; k >= 0 && i < l->n_plugged; i++)
                if (l->plugged[i]->policy_source == source && l->plugged[i]->policy == policy && is_of(l->plugged[i], id))
                        k = strv_push(&row->disks, &row->n_disks, l->plugged[i]->interface);
        return k;
}

static int add_kept(const char *key, enum policy policy, bool forced, void *data)
{
        return add(data, key, policy, forced, POLICY_BY_USER);
}

static int add_configured(struct listing *l, const struct config *c)
{
        int k = c->policy == POLICY_AUTO ? 0 : add(l, "*", c->policy, false, POLICY_BY_CONFIG);

        for (size_t i = 0; k >= 0 && i < c->n_rules; i++) {
                const struct disk_rule *rule = c->rules + i;
                struct facts f = {.vid = rule->vid, .pid = rule->pid};
                char id[USB_ID_MAX];

                (void) copy_string(f.serial, sizeof(f.serial), rule->serial);
                (void) history_usb_id(&f, id, sizeof(id));
                if (!*rule->serial)
                        id[strlen(id) - 1] = '\0';
                k = add(l, id, rule->policy, false, POLICY_BY_CONFIG);
        }
        return k;
}

/* Only for disks that are plugged in: the others have no udev properties. */
static int add_udev(struct listing *l)
{
        int k = 0;

        for (size_t i = 0; k >= 0 && i < l->n_plugged; i++) {
                const struct facts *f = l->plugged[i];
                char id[USB_ID_MAX];

                if (f->policy_source == POLICY_BY_UDEV)
                        k = add(l, history_usb_id(f, id, sizeof(id)), f->policy, false, POLICY_BY_UDEV);
        }
        return k;
}

int policy_list(const struct roots *r, const struct config *c, const struct facts *const *plugged, size_t n_plugged,
                struct policy_rows *ret)
{
        struct listing l = {plugged, n_plugged, {0}};
        int k = policy_each(r, add_kept, &l);

        if (k >= 0)
                k = add_udev(&l);
        if (k >= 0)
                k = add_configured(&l, c);
        if (k < 0) {
                policy_rows_done(&l.rows);
                return k;
        }
        *ret = l.rows;
        return 0;
}
