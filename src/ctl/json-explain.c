/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/json-disk.h"

/* What explain and policy --kernel have to say besides the disk. */

static json_object *json_row(const struct explain_row *r)
{
        json_object *o = json_object_new_object();

        return o ? whole(o, put_string(o, "reason_id", reason_to_string(r->reason)) &&
                                    put(o, "fits", json_object_new_boolean(r->fits), false) &&
                                    put(o, "decides", json_object_new_boolean(r->decides), false) &&
                                    put_string(o, "found", r->found) && put_string_or_null(o, "means", r->means) &&
                                    put_string_or_null(o, "remedy", r->remedy))
                 : NULL;
}

json_object *json_rows(const struct explain_row *rows, size_t n)
{
        json_object *array = json_object_new_array();
        bool ok = array;

        for (size_t i = 0; ok && i < n; i++)
                ok = append(array, json_row(&rows[i]));
        return whole(array, ok);
}

static json_object *json_quirk(const struct quirk_word *w)
{
        json_object *o = json_object_new_object();
        const char *file = w->line ? w->line->file : NULL;
        char effect[512], remedy[512];

        return o ? whole(o, put_string(o, "entry", w->entry) && put_string(o, "source", quirk_source_to_string(w->source)) &&
                                    put_string_or_null(o, "file", file) && (!file || put_int(o, "line", w->line->line)) &&
                                    put_string(o, "effect", quirk_effect_to_string(w->effect)) &&
                                    put_string(o, "means", quirk_word_effect(w, effect, sizeof(effect))) &&
                                    put_string(o, "remedy", quirk_word_remedy(w, remedy, sizeof(remedy))))
                 : NULL;
}

json_object *json_quirks(const struct quirk_word *words, size_t n)
{
        json_object *array = json_object_new_array();
        bool ok = array;

        for (size_t i = 0; ok && i < n; i++)
                ok = append(array, json_quirk(&words[i]));
        return whole(array, ok);
}

json_object *json_link(const struct link_facts *l)
{
        json_object *o = json_object_new_object();
        const char *hub;
        enum link_limit limit = link_limit(l, &hub);
        char advice[512];

        return o ? whole(o, put_int(o, "speed_mbps", l->speed_mbps) &&
                                    put_string(o, "super_speed", link_able_to_string(l->able)) &&
                                    put_string(o, "limit", link_limit_to_string(limit)) && put_string_or_null(o, "hub", hub) &&
                                    put_string_or_null(o, "advice", link_advice(l, advice, sizeof(advice))))
                 : NULL;
}

static json_object *json_kernel_line(const char *before, const struct keepoff *k)
{
        json_object *o = json_object_new_object(), *left_out = json_object_new_array();
        bool ok = o && left_out;
        char line[QUIRKS_MAX + 64];

        (void) snprintf(line, sizeof(line), "%s%s", before, k->quirks);
        for (size_t i = 0; ok && i < k->n_left_out; i++) {
                json_object *one = json_object_new_object();

                ok = append(left_out, one ? whole(one, put_string(one, "entry", k->left_out[i]) &&
                                                               put_string(one, "disk", k->left_out_disks[i]))
                                          : NULL);
        }
        if (!ok) {
                json_object_put(left_out);
                return whole(o, false);
        }
        return whole(o, put(o, "left_out", left_out, false) && put_string_or_null(o, "line", *k->quirks ? line : NULL) &&
                                put_string_or_null(o, "added", k->own));
}

json_object *json_kernel(const struct json_kernel *k)
{
        json_object *o = json_object_new_object(), *kernel = json_object_new_object();
        bool ok = o && kernel;

        ok = ok && put(kernel, "command_line", json_kernel_line("usb-storage.quirks=", k->command_line), false) &&
             (k->modprobe ? put(kernel, "modprobe", json_kernel_line("options usb-storage quirks=", k->modprobe), false)
                          : put(kernel, "modprobe", NULL, true)) &&
             put_string_or_null(kernel, "initramfs", k->initramfs);
        if (!ok) {
                json_object_put(kernel);
                return whole(o, false);
        }
        return whole(o, put(o, "kernel", kernel, false) && put_int(o, "version", JSON_VERSION));
}
