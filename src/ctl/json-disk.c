/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/json-disk.h"

#include "term/json.h"

static json_object *json_lun(const struct lun *l)
{
        json_object *o = json_object_new_object();

        return o ? whole(o, put_string(o, "name", l->disk.name) && put_int(o, "lun", l->lun) &&
                                    put(o, "size", json_object_new_uint64(l->size), false))
                 : NULL;
}

static json_object *json_luns(const struct disk *d)
{
        json_object *array = json_object_new_array();
        bool ok = array;

        for (size_t i = 0; ok && i < d->n_luns; i++)
                if (d->luns[i].disk.name[0]) /* not scanned yet: there is no disk to name */
                        ok = append(array, json_lun(&d->luns[i]));
        return whole(array, ok);
}

static json_object *json_user(const struct user *u)
{
        json_object *o = json_object_new_object();

        return o ? whole(o, put_string(o, "kind", user_kind_to_string(u->kind)) && put_string(o, "device", u->device) &&
                                    (!u->where || put_string(o, "where", u->where)) &&
                                    (!u->namespace || put_string(o, "namespace", u->namespace)) &&
                                    (u->pid <= 0 || put_int(o, "pid", u->pid)) &&
                                    (!u->command || put_string(o, "command", u->command)) &&
                                    (!u->unit || put_string(o, "unit", u->unit)))
                 : NULL;
}

static json_object *json_users(const struct disk *d)
{
        json_object *array = json_object_new_array();
        bool ok = array;

        for (size_t i = 0; ok && i < d->n_users; i++)
                ok = append(array, json_user(&d->users[i]));
        return whole(array, ok);
}

static json_object *json_outcome(const struct outcome *out)
{
        json_object *o = json_object_new_object();

        return o ? whole(o, put_int(o, "code", out->code) && put_string_or_null(o, "step", out->step) &&
                                    put_string(o, "text", out->text))
                 : NULL;
}

json_object *json_disk(const struct view *v)
{
        const struct facts *f = &v->disk.facts;
        const struct disk *d = &v->disk;
        json_object *o = json_object_new_object();
        bool ok;

        if (!o)
                return NULL;
        ok = put_string(o, "id", f->interface) && put_string(o, "interface", f->interface) && put_hex(o, "vendor_id", f->vid) &&
             put_hex(o, "product_id", f->pid) && put_hex(o, "revision", f->bcd) &&
             put_string(o, "manufacturer", f->manufacturer) && put_string(o, "product", f->product) &&
             put_string(o, "serial", f->serial) && put_int(o, "speed_mbps", f->speed_mbps) &&
             put_int_or_null(o, "max_speed_mbps", f->max_speed_mbps) && put_string(o, "usb_version", f->usb_version) &&
             put_string_or_null(o, "driver", view_driver(v)) &&
             put(o, "capable", json_object_new_boolean(view_capable(v)), false) &&
             put_string(o, "policy", policy_to_string(f->policy)) &&
             put_string_or_null(o, "target", d->decision.target == DRIVER_NONE ? NULL : driver_to_string(d->decision.target)) &&
             put_string(o, "state", state_to_string(d->state)) && put_string(o, "reason", v->reason) &&
             put_string(o, "reason_id", v->reason_id) && put_string(o, "verdict", verdict_to_string(f->verdict)) &&
             put_string_or_null(o, "history", v->history) && put_string_or_null(o, "host", d->host) &&
             put_string_or_null(o, "lease", d->lease) && put(o, "disks", json_luns(d), false) &&
             put(o, "busy", json_users(d), false) && (d->outcome.code < 0 || put(o, "outcome", json_outcome(&d->outcome), false));
        return whole(o, ok);
}

static json_object *json_says(const struct db_says *s, uint16_t bcd, const char *platform)
{
        json_object *o = json_object_new_object();

        return o ? whole(o, put_string(o, "verdict", verdict_to_string(s->verdict)) && put_hex(o, "firmware_min", s->bcd_min) &&
                                    put_hex(o, "firmware_max", s->bcd_max) &&
                                    put(o, "firmware_fits", json_object_new_boolean(db_firmware_fits(s, bcd)), false) &&
                                    put_string(o, "host", s->host) &&
                                    put(o, "host_fits", json_object_new_boolean(db_host_fits(s, platform)), false) &&
                                    put_string(o, "source", s->source) && put_string(o, "date", s->date) &&
                                    put_string_or_null(o, "note", s->note))
                 : NULL;
}

json_object *json_database(const struct db_entry *e, uint16_t bcd, const char *platform)
{
        json_object *o = json_object_new_object(), *says = json_object_new_array();
        bool ok = o && says;
        struct db_word word;

        db_weigh(e, bcd, platform, &word);
        for (size_t i = 0; ok && i < e->n_says; i++)
                ok = append(says, json_says(&e->says[i], bcd, platform));
        if (!ok) {
                json_object_put(says);
                return whole(o, false);
        }
        return whole(o, put(o, "statements", says, false) && put_string_or_null(o, "chip", e->chip) &&
                                put_string(o, "verdict", verdict_to_string(word.verdict)) &&
                                put(o, "conflict", json_object_new_boolean(word.conflict), false) &&
                                put(o, "overruled", json_object_new_boolean(e->ruled), false) &&
                                put_string(o, "platform", platform));
}

json_object *json_document(json_object *disks)
{
        json_object *o = disks ? json_object_new_object() : NULL;

        if (!o) {
                json_object_put(disks);
                return NULL;
        }
        if (!put_int(o, "version", JSON_VERSION)) {
                json_object_put(disks);
                return whole(o, false);
        }
        return whole(o, put(o, "disks", disks, false));
}

json_object *json_views(const struct views *v)
{
        json_object *array = json_object_new_array();
        bool ok = array;

        for (size_t i = 0; ok && i < v->n; i++)
                ok = append(array, json_disk(&v->list[i]));
        return json_document(whole(array, ok));
}

json_object *json_object_with_all(const struct view *v, const struct json_member *members, size_t n)
{
        json_object *disk = json_disk(v);
        bool ok = disk;

        for (size_t i = 0; i < n; i++)
                if (ok && members[i].value)
                        ok = put(disk, members[i].key, members[i].value, false);
                else {
                        json_object_put(members[i].value);
                        ok = false;
                }
        return whole(disk, ok);
}

json_object *json_disk_with_all(const struct view *v, const struct json_member *members, size_t n)
{
        json_object *array = json_object_new_array(), *disk = json_object_with_all(v, members, n);

        if (!array) {
                json_object_put(disk);
                return NULL;
        }
        return json_document(whole(array, append(array, disk)));
}

json_object *json_disk_with(const struct view *v, const char *key, json_object *value)
{
        return json_disk_with_all(v, &(struct json_member){key, value}, 1);
}

json_object *json_event(const struct view *v, const char *event, uint64_t time_usec, const char *const *changed)
{
        json_object *o = json_object_new_object(), *array = json_object_new_array();
        bool ok = array;

        for (; ok && *changed; changed++)
                ok = append(array, json_object_new_string(*changed));
        array = whole(array, ok);
        if (!o) {
                json_object_put(array);
                return NULL;
        }
        ok = put(o, "changed", array, false);
        return whole(o, ok && put_int(o, "version", JSON_VERSION) &&
                                put(o, "time_usec", json_object_new_uint64(time_usec), false) && put_string(o, "event", event) &&
                                put(o, "disk", json_disk(v), false));
}

static json_object *json_happened(const struct log_entry *e)
{
        static const char *const keys[_EVENT_VALUE_MAX] = {
                [EVENT_WORD] = "event",       [EVENT_USB_ID] = "usb_id", [EVENT_INTERFACE] = "interface", [EVENT_PORT] = "port",
                [EVENT_DISKS] = "disks",      [EVENT_STATE] = "state",   [EVENT_FROM] = "from",           [EVENT_TO] = "to",
                [EVENT_REASON] = "reason_id", [EVENT_STEP] = "step",     [EVENT_TEXT] = "text",
        };
        json_object *o = json_object_new_object();
        bool ok = o && put(o, "time_usec", json_object_new_uint64(e->usec), false) &&
                  put_string(o, "source", e->record ? "record" : "journal");

        for (enum event_value v = 0; ok && v < _EVENT_VALUE_MAX; v++)
                ok = put_string_or_null(o, keys[v], e->values[v]);
        return whole(o, ok);
}

json_object *json_events(const struct events *e)
{
        json_object *o = json_object_new_object(), *array = json_object_new_array();
        bool ok = o && array;

        for (size_t i = 0; ok && i < e->n; i++)
                ok = append(array, json_happened(&e->list[i]));
        if (!ok) {
                json_object_put(array);
                return whole(o, false);
        }
        ok = put(o, "events", array, false);
        return whole(o,
                     ok && put_int(o, "version", JSON_VERSION) && put(o, "journal", json_object_new_boolean(e->journal), false));
}
