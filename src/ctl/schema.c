/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/schema.h"

#include <limits.h>
#include <stdio.h>

/* ---- the disk ---- */

static json_object *json_luns(const struct disk *d)
{
        json_object *list = json_list();

        for (size_t i = 0; i < d->n_luns; i++) {
                const struct lun *l = &d->luns[i];
                json_object *o;

                if (!l->disk.name[0]) /* not scanned yet: it has no disk name */
                        continue;
                o = append_new(list);
                put_string(o, "name", l->disk.name);
                put_int(o, "lun", l->lun);
                put_uint(o, "size", l->size);
        }
        return list;
}

static void put_if_said(json_object *o, const char *key, const char *s)
{
        if (s)
                put_string(o, key, s);
}

static json_object *json_users(const struct disk *d)
{
        json_object *list = json_list();

        for (size_t i = 0; i < d->n_users; i++) {
                const struct user *u = &d->users[i];
                json_object *o = append_new(list);

                put_string(o, "kind", user_kind_to_string(u->kind));
                put_string(o, "device", u->device);
                put_if_said(o, "where", u->where);
                put_if_said(o, "namespace", u->namespace);
                if (u->pid > 0)
                        put_int(o, "pid", u->pid);
                put_if_said(o, "command", u->command);
                put_if_said(o, "unit", u->unit);
        }
        return list;
}

static json_object *json_outcome(const struct outcome *out)
{
        json_object *o = json_new();

        put_int(o, "code", out->code);
        put_string_or_null(o, "step", out->step);
        put_string(o, "text", out->text);
        return o;
}

json_object *json_disk(const struct view *v)
{
        const struct facts *f = &v->disk.facts;
        const struct disk *d = &v->disk;
        json_object *o = json_new();

        put_string(o, "id", f->interface);
        put_string(o, "interface", f->interface);
        put_hex(o, "vendor_id", f->vid);
        put_hex(o, "product_id", f->pid);
        put_hex(o, "revision", f->bcd);
        put_string(o, "manufacturer", f->manufacturer);
        put_string(o, "product", f->product);
        put_string(o, "serial", f->serial);
        put_int(o, "speed_mbps", f->speed_mbps);
        put(o, "max_speed_mbps", NULL);
        if (f->max_speed_mbps)
                put_int(o, "max_speed_mbps", f->max_speed_mbps);
        put_string(o, "usb_version", f->usb_version);
        put_string_or_null(o, "driver", view_driver(v));
        put_bool(o, "capable", view_capable(v));
        put_string(o, "policy", policy_to_string(f->policy));
        put_string_or_null(o, "target", view_target(v));
        put_string(o, "state", state_to_string(d->state));
        put_string(o, "reason", v->reason);
        put_string(o, "reason_id", v->reason_id);
        put_string(o, "verdict", verdict_to_string(f->verdict));
        put_string_or_null(o, "history", v->history);
        put_string_or_null(o, "host", d->host);
        put_string_or_null(o, "lease", d->lease);
        put(o, "disks", json_luns(d));
        put(o, "busy", json_users(d));
        if (d->outcome.code >= 0)
                put(o, "outcome", json_outcome(&d->outcome));
        return o;
}

json_object *json_views(const struct views *v)
{
        json_object *list = json_list();

        for (size_t i = 0; i < v->n; i++)
                append(list, json_disk(&v->list[i]));
        return json_document("disks", list);
}

json_object *json_of_disk(json_object *disk)
{
        json_object *list = json_list();

        append(list, disk);
        return json_document("disks", list);
}

json_object *json_disk_with(const struct view *v, const char *key, json_object *value)
{
        json_object *o = json_disk(v);

        put(o, key, value);
        return json_of_disk(o);
}

/* ---- members that some verbs add ---- */

json_object *json_rows(const struct explain_row *rows, size_t n)
{
        json_object *list = json_list();

        for (size_t i = 0; i < n; i++) {
                const struct explain_row *row = &rows[i];
                json_object *o = append_new(list);

                put_string(o, "reason_id", reason_to_string(row->reason));
                put_bool(o, "fits", row->fits);
                put_bool(o, "decides", row->decides);
                put_string(o, "found", row->found);
                put_string_or_null(o, "means", row->means);
                put_string_or_null(o, "remedy", row->remedy);
        }
        return list;
}

json_object *json_quirks(const struct quirk_word *words, size_t n)
{
        json_object *list = json_list();

        for (size_t i = 0; i < n; i++) {
                const struct quirk_word *w = &words[i];
                const char *file = w->line ? w->line->file : NULL;
                json_object *o = append_new(list);
                char text[512];

                put_string(o, "entry", w->entry);
                put_string(o, "source", quirk_source_to_string(w->source));
                put_string_or_null(o, "file", file);
                if (file)
                        put_int(o, "line", w->line->line);
                put_string(o, "effect", quirk_effect_to_string(w->effect));
                put_string(o, "means", quirk_word_effect(w, text, sizeof(text)));
                put_string(o, "remedy", quirk_word_remedy(w, text, sizeof(text)));
        }
        return list;
}

json_object *json_link(const struct link_facts *l)
{
        json_object *o = json_new();
        char advice[512];
        const char *hub;

        put_int(o, "speed_mbps", l->speed_mbps);
        put_string(o, "super_speed", link_able_to_string(l->able));
        put_string(o, "limit", link_limit_to_string(link_limit(l, &hub)));
        put_string_or_null(o, "hub", hub);
        put_string_or_null(o, "advice", link_advice(l, advice, sizeof(advice)));
        return o;
}

json_object *json_name(const char *file, const char *where, const char *name, enum devname kind, const char *instead)
{
        json_object *o = json_new();

        put_string(o, "file", file);
        put_string_or_null(o, "where", where);
        put_string(o, "name", name);
        put_string(o, "why", devname_why(kind));
        put_string_or_null(o, "instead", instead);
        return o;
}

json_object *json_inhibitor(const char *disk, const char *who, const char *why)
{
        json_object *o = json_new();

        put_string_or_null(o, "disk", disk);
        put_string(o, "who", who);
        put_string(o, "why", why);
        return o;
}

json_object *json_commands(const struct health *h)
{
        static const char *const keys[_SCSI_COUNT_MAX] = {
                [SCSI_COUNT_REQUESTS] = "sent",
                [SCSI_COUNT_DONE] = "done",
                [SCSI_COUNT_ERRORS] = "failed",
                [SCSI_COUNT_TIMEOUTS] = "timed_out",
        };
        json_object *list = json_list();

        for (size_t i = 0; i < h->n_luns; i++) {
                const struct lun_health *l = &h->luns[i];
                json_object *o = append_new(list);

                put_string(o, "name", l->lun->disk.name);
                for (enum scsi_count c = 0; c < _SCSI_COUNT_MAX; c++)
                        if (l->counts.known[c])
                                put_uint(o, keys[c], l->counts.value[c]);
                        else
                                put(o, keys[c], NULL);
        }
        return list;
}

json_object *json_smart(const struct health *h)
{
        json_object *list = json_list();

        for (size_t i = 0; i < h->n_luns; i++) {
                const struct smart *s = &h->luns[i].smart;
                json_object *o;

                if (!s->told)
                        continue;
                o = append_new(list);
                put_string(o, "name", h->luns[i].lun->disk.name);
                put_string_or_null(o, "type", s->type);
                put_string_or_null(o, "why_not", s->why_not);
                put(o, "passed", NULL);
                if (s->passed >= 0)
                        put_bool(o, "passed", s->passed);
                put(o, "temperature", NULL);
                if (s->temperature != INT_MIN)
                        put_int(o, "temperature", s->temperature);
        }
        return list;
}

json_object *json_trim(const struct health *h, enum driver driver)
{
        json_object *list = json_list();

        for (size_t i = 0; i < h->n_luns; i++) {
                const struct trim_facts *t = &h->luns[i].trim;
                json_object *o = append_new(list);

                put_string(o, "name", h->luns[i].lun->disk.name);
                put_bool(o, "used", t->used_bytes > 0);
                put_bool(o, "kept", t->kept);
                put_string(o, "offered", trim_offer_to_string(t->offer));
                put_string_or_null(o, "mode", t->mode);
                put_uint(o, "max_bytes", t->used_bytes);
                put_string_or_null(o, "advice", trim_advice(t, driver));
        }
        return list;
}

json_object *json_bridge(uint16_t vid, uint16_t pid, json_object *database)
{
        json_object *list = json_list(), *o = append_new(list);

        put_hex(o, "vendor_id", vid);
        put_hex(o, "product_id", pid);
        put(o, "database", database);
        return json_document("bridges", list);
}

json_object *json_database(const struct db_entry *e, int bcd, const char *platform)
{
        json_object *o = json_new(), *list = json_list();
        struct db_word word;

        for (size_t i = 0; i < e->n_says; i++) {
                const struct db_says *s = &e->says[i];
                json_object *says = append_new(list);

                put_string(says, "verdict", verdict_to_string(s->verdict));
                put_hex(says, "firmware_min", s->bcd_min);
                put_hex(says, "firmware_max", s->bcd_max);
                put(says, "firmware_fits", NULL);
                if (bcd >= 0)
                        put_bool(says, "firmware_fits", db_firmware_fits(s, (uint16_t) bcd));
                put_string(says, "host", s->host);
                put_bool(says, "host_fits", db_host_fits(s, platform));
                put_string(says, "source", s->source);
                put_string(says, "date", s->date);
                put_string_or_null(says, "note", s->note);
        }
        if (bcd < 0)
                (void) db_weigh_all(e, platform, &word);
        else
                db_weigh(e, (uint16_t) bcd, platform, &word);
        put(o, "statements", list);
        put_string_or_null(o, "chip", e->chip);
        put_string(o, "verdict", verdict_to_string(word.verdict));
        put_bool(o, "conflict", word.conflict);
        put_bool(o, "overruled", e->ruled);
        put_string(o, "platform", platform);
        return o;
}

/* ---- monitor, log, policy --kernel ---- */

json_object *json_event(const struct view *v, const char *event, uint64_t time_usec, const char *const *changed)
{
        json_object *list = json_list(), *o = json_document("changed", list);

        for (; *changed; changed++)
                append_string(list, *changed);
        put_uint(o, "time_usec", time_usec);
        put_string(o, "event", event);
        put(o, "disk", json_disk(v));
        return o;
}

json_object *json_events(const struct events *e, size_t first)
{
        json_object *list = json_list(), *document = json_document("events", list);

        for (size_t i = first; i < e->n; i++) {
                json_object *o = append_new(list);

                put_uint(o, "time_usec", e->list[i].usec);
                put_string(o, "source", e->list[i].record ? "record" : "journal");
                for (enum event_value v = 0; v < _EVENT_VALUE_MAX; v++)
                        put_string_or_null(o, event_fields[v].json, e->list[i].values[v]);
        }
        put_bool(document, "journal", e->journal);
        return document;
}

static json_object *json_kernel_line(const char *before, const struct keepoff *k)
{
        json_object *o = json_new(), *left_out = json_list();
        char line[QUIRKS_MAX + 64];

        (void) snprintf(line, sizeof(line), "%s%s", before, k->quirks);
        for (size_t i = 0; i < k->n_left_out; i++) {
                json_object *one = append_new(left_out);

                put_string(one, "entry", k->left_out[i]);
                put_string(one, "disk", k->left_out_disks[i]);
        }
        put(o, "left_out", left_out);
        put_string_or_null(o, "line", *k->quirks ? line : NULL);
        put_string_or_null(o, "added", k->own);
        return o;
}

json_object *json_kernel(const struct json_kernel *k)
{
        json_object *o = json_new();

        put(o, "command_line", json_kernel_line("usb-storage.quirks=", k->command_line));
        put(o, "modprobe", k->modprobe ? json_kernel_line("options usb-storage quirks=", k->modprobe) : NULL);
        put_string_or_null(o, "initramfs", k->initramfs);
        return json_document("kernel", o);
}
