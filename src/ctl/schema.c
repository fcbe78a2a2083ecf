/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/schema.h"

#include "core/disk-words.h"
#include "ctl/options.h"

#include <limits.h>

/* ---- the disk ---- */

static json_object *json_luns(const struct disk *d)
{
        json_object *list = json_list();

        for (size_t i = 0; i < d->n_luns; i++) {
                const struct lun *l = &d->luns[i];

                if (l->disk.name[0]) /* otherwise it is not scanned yet */
                        append(list,
                               json_make({"name", new_string(l->disk.name)},
                                         {"lun", new_int(l->lun)}, {"size", new_uint(l->size)}));
        }
        return list;
}

static void put_if_said(json_object *o, const char *key, const char *s)
{
        if (s)
                put(o, key, new_string(s));
}

static json_object *json_users(const struct disk *d)
{
        json_object *list = json_list();

        for (size_t i = 0; i < d->n_users; i++) {
                const struct user *u = &d->users[i];
                json_object *o = json_make({"kind", new_string(user_kind_to_string(u->kind))},
                                           {"device", new_string(u->device)});

                put_if_said(o, "where", u->where);
                put_if_said(o, "namespace", u->namespace);
                if (u->pid > 0)
                        put(o, "pid", new_int(u->pid));
                put_if_said(o, "command", u->command);
                put_if_said(o, "unit", u->unit);
                append(list, o);
        }
        return list;
}

static json_object *json_outcome(const struct outcome *o)
{
        return json_make({"code", new_int(o->code)}, {"step", new_string_or_null(o->step)},
                         {"text", new_string(o->text)});
}

/* NULL is null. */
static json_object *json_property(const struct disk_property *p, const struct view *v)
{
        const void *at = (const char *) v + p->offset;
        bool nullable = p->flags & PROPERTY_NULLABLE;
        const char *text = at;
        unsigned number;

        switch (p->kind) {
        case PROPERTY_HEX:
                return new_hex(*(const uint16_t *) at);
        case PROPERTY_NUMBER:
                number = *(const unsigned *) at;
                return number || !nullable ? new_int(number) : NULL;
        case PROPERTY_CAPABLE:
                return new_bool(view_capable(v));
        case PROPERTY_LUNS:
                return json_luns(&v->disk);
        case PROPERTY_USERS:
                return json_users(&v->disk);
        case PROPERTY_OUTCOME:
                return json_outcome(&v->disk.outcome);
        case PROPERTY_TEXT:
        case _PROPERTY_KIND_MAX:
                break;
        }
        if (p->say && p->size == 0)
                text = p->say(&v->disk, NULL, 0);
        return nullable ? new_string_or_null(text) : new_string(text);
}

json_object *json_disk(const struct view *v)
{
        json_object *o = json_new();

        for (size_t i = 0; i < n_disk_properties; i++) {
                const struct disk_property *p = &disk_properties[i];

                if (p->kind != PROPERTY_OUTCOME || v->disk.outcome.code >= 0)
                        put(o, p->json, json_property(p, v));
        }
        return o;
}

/* ---- members that some verbs add ---- */

json_object *json_rows(const struct explain_row *rows, size_t n, bool all)
{
        json_object *list = json_list();

        for (const struct explain_row *row = rows; row < rows + n; row++)
                if (row->applies || all)
                        append(list,
                               json_make({"reason_id", new_string(reason_to_string(row->reason))},
                                         {"fits", new_bool(row->fits)},
                                         {"decides", new_bool(row->decides)},
                                         {"applies", new_bool(row->applies)},
                                         {"found", new_string(row->found)},
                                         {"means", new_string_or_null(row->means)},
                                         {"remedy", new_string_or_null(row->remedy)}));
        return list;
}

json_object *json_quirks(const struct quirk_word *words, size_t n)
{
        json_object *list = json_list();

        for (size_t i = 0; i < n; i++) {
                const struct quirk_word *w = &words[i];
                const char *file = w->line ? w->line->file : NULL;
                char means[512], remedy[512];
                json_object *o = json_make(
                        {"entry", new_string(w->entry)},
                        {"source", new_string(quirk_source_to_string(w->source))},
                        {"file", new_string_or_null(file)},
                        {"effect", new_string(quirk_effect_to_string(w->effect))},
                        {"means", new_string(quirk_word_effect(w, means, sizeof(means)))},
                        {"remedy", new_string(quirk_word_remedy(w, remedy, sizeof(remedy)))});

                if (file)
                        put(o, "line", new_int(w->line->line));
                append(list, o);
        }
        return list;
}

json_object *json_slip(const struct quirk_slip *s)
{
        char means[512], remedy[512];
        json_object *o = json_make(
                {"entry", new_string(s->text)},
                {"source", new_string(quirk_source_to_string(s->line->source))},
                {"file", new_string_or_null(s->line->file)}, {"effect", new_string("ignored")},
                {"means", new_string(quirk_slip_why(s, means, sizeof(means)))},
                {"remedy", new_string(quirk_slip_remedy(s, remedy, sizeof(remedy)))});

        if (s->line->file)
                put(o, "line", new_int(s->line->line));
        return o;
}

json_object *json_link(const struct link_facts *l)
{
        char advice[512];
        const char *hub, *limit = link_limit_to_string(link_limit(l, &hub));

        return json_make({"speed_mbps", new_int(l->speed_mbps)},
                         {"super_speed", new_string(link_able_to_string(l->able))},
                         {"limit", new_string(limit)}, {"hub", new_string_or_null(hub)},
                         {"advice", new_string_or_null(link_advice(l, advice, sizeof(advice)))});
}

json_object *json_name(const char *file, const char *where, const char *name, enum devname kind,
                       const char *instead)
{
        return json_make({"file", new_string(file)}, {"where", new_string_or_null(where)},
                         {"name", new_string(name)}, {"why", new_string(devname_why(kind))},
                         {"instead", new_string_or_null(instead)});
}

json_object *json_inhibitor(const char *disk, const char *who, const char *why)
{
        return json_make({"disk", new_string_or_null(disk)}, {"who", new_string(who)},
                         {"why", new_string(why)});
}

json_object *json_sign(const char *what, unsigned count, const char *blame)
{
        return json_make({"what", new_string(what)}, {"count", new_uint(count)},
                         {"blame", blame ? new_string(blame) : NULL});
}

json_object *json_lease(int code, const char *text, bool lost, const struct view *v,
                        json_object *signs)
{
        json_object *users = json_list();
        char user[512];

        for (size_t i = 0; v && i < v->disk.n_users; i++)
                append(users, new_string(user_text(&v->disk.users[i], user, sizeof(user))));
        return json_make({"version", new_int(JSON_VERSION)}, {"code", new_int(code)},
                         {"text", new_string_or_null(text)}, {"lost", new_bool(lost)},
                         {"label", v ? new_string(VIEW_LABEL(v)) : NULL}, {"users", users},
                         {"signs", signs}, {"disk", v ? json_disk(v) : NULL});
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

        for (const struct lun_health *l = h->luns; l < h->luns + h->n_luns; l++) {
                json_object *o = json_make({"name", new_string(l->lun->disk.name)});

                for (enum scsi_count c = 0; c < _SCSI_COUNT_MAX; c++)
                        if (l->counts.known[c])
                                put(o, keys[c], new_uint(l->counts.value[c]));
                        else
                                put(o, keys[c], NULL);
                append(list, o);
        }
        return list;
}

json_object *json_smart(const struct health *h)
{
        json_object *list = json_list();

        for (size_t i = 0; i < h->n_luns; i++) {
                const struct smart *s = &h->luns[i].smart;

                if (s->told)
                        append(list,
                               json_make({"name", new_string(h->luns[i].lun->disk.name)},
                                         {"type", new_string_or_null(s->type)},
                                         {"why_not", new_string_or_null(s->why_not)},
                                         {"passed", s->passed >= 0 ? new_bool(s->passed) : NULL},
                                         {"temperature", s->temperature != INT_MIN
                                                                 ? new_int(s->temperature)
                                                                 : NULL}));
        }
        return list;
}

json_object *json_trim(const struct health *h, enum driver driver)
{
        json_object *list = json_list();

        for (size_t i = 0; i < h->n_luns; i++) {
                const struct trim_facts *t = &h->luns[i].trim;

                append(list, json_make({"name", new_string(h->luns[i].lun->disk.name)},
                                       {"used", new_bool(t->used_bytes > 0)},
                                       {"kept", new_bool(t->kept == TRIM_KEPT)},
                                       {"offered", new_string(trim_offer_to_string(t->offer))},
                                       {"mode", new_string_or_null(t->mode)},
                                       {"max_bytes", new_uint(t->used_bytes)},
                                       {"advice", new_string_or_null(trim_advice(t, driver))}));
        }
        return list;
}

json_object *json_bridge(uint16_t vid, uint16_t pid, json_object *database)
{
        return json_make({"vendor_id", new_hex(vid)}, {"product_id", new_hex(pid)},
                         {"database", database});
}

json_object *json_database(const struct db_entry *e, int bcd, const char *platform)
{
        json_object *list = json_list();
        struct db_word word;

        for (const struct db_says *s = e->says; s < e->says + e->n_says; s++)
                append(list,
                       json_make({"verdict", new_string(verdict_to_string(s->verdict))},
                                 {"firmware_min", new_hex(s->bcd_min)},
                                 {"firmware_max", new_hex(s->bcd_max)},
                                 {"firmware_fits",
                                  bcd < 0 ? NULL : new_bool(db_firmware_fits(s, (uint16_t) bcd))},
                                 {"host", new_string(s->host)},
                                 {"host_fits", new_bool(db_host_fits(s, platform))},
                                 {"source", new_string(s->source)}, {"date", new_string(s->date)},
                                 {"note", new_string_or_null(s->note)}));
        if (bcd < 0)
                (void) db_weigh_all(e, platform, &word);
        else
                db_weigh(e, (uint16_t) bcd, platform, &word);
        return json_make({"statements", list}, {"chip", new_string_or_null(e->chip)},
                         {"verdict", new_string(verdict_to_string(word.verdict))},
                         {"conflict", new_bool(word.conflict)},
                         {"kernel_only", new_bool(word.kernel_alone)},
                         {"overruled", new_bool(e->ruled)}, {"platform", new_string(platform)});
}

/* ---- monitor, log, policy ---- */

json_object *json_event(const struct view *v, const char *event, uint64_t time_usec,
                        const char *const *changed)
{
        json_object *list = json_list();

        for (; *changed; changed++)
                append(list, new_string(*changed));
        return json_make({"version", new_int(JSON_VERSION)}, {"changed", list},
                         {"time_usec", new_uint(time_usec)}, {"event", new_string(event)},
                         {"disk", json_disk(v)});
}

json_object *json_events(const struct events *e, size_t first)
{
        json_object *list = json_list(), *document = json_document("events", list);

        for (size_t i = first; i < e->n; i++) {
                json_object *o =
                        json_make({"time_usec", new_uint(e->list[i].usec)},
                                  {"source", new_string(e->list[i].record ? "record" : "journal")});

                for (enum event_value v = 0; v < _EVENT_VALUE_MAX; v++)
                        put(o, event_fields[v].json, new_string_or_null(e->list[i].values[v]));
                append(list, o);
        }
        put(document, "journal", new_bool(e->journal));
        return document;
}

json_object *json_policies(const struct policy_rows *p)
{
        json_object *list = json_list();

        for (size_t i = 0; i < p->n; i++) {
                const struct policy_row *row = &p->list[i];
                json_object *disks = json_list();

                for (size_t d = 0; d < row->n_disks; d++)
                        append(disks, new_string(row->disks[d]));
                append(list,
                       json_make({"disks", disks}, {"id", new_string(row->id)},
                                 {"policy", new_string(policy_to_string(row->policy))},
                                 {"forced", new_bool(row->forced)},
                                 {"source", new_string(policy_source_to_string(row->source))}));
        }
        return json_document("policies", list);
}

static json_object *json_kernel_line(const char *before, const struct keepoff *k)
{
        json_object *left_out = json_list();
        char line[QUIRKS_MAX + 64] = "";

        if (*k->quirks)
                (void) snprintf(line, sizeof(line), "%s%s", before, k->quirks);
        for (size_t i = 0; i < k->n_left_out; i++)
                append(left_out, json_make({"entry", new_string(k->left_out[i])},
                                           {"disk", new_string(k->left_out_disks[i])}));
        return json_make({"left_out", left_out}, {"line", new_string_or_null(line)},
                         {"added", new_string_or_null(k->own)});
}

json_object *json_kernel(const struct keepoff *command_line, const struct keepoff *modprobe,
                         const char *initramfs)
{
        json_object *options = NULL;

        if (modprobe)
                options = json_kernel_line("options usb-storage quirks=", modprobe);
        return json_document(
                "kernel",
                json_make({"command_line", json_kernel_line("usb-storage.quirks=", command_line)},
                          {"modprobe", options}, {"initramfs", new_string_or_null(initramfs)}));
}
