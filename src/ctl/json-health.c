/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/json-disk.h"

#include <limits.h>

/* What status has to say besides the disk. */

static json_object *json_lun_commands(const struct lun_health *l)
{
        static const char *const keys[_SCSI_COUNT_MAX] = {
                [SCSI_COUNT_REQUESTS] = "sent",
                [SCSI_COUNT_DONE] = "done",
                [SCSI_COUNT_ERRORS] = "failed",
                [SCSI_COUNT_TIMEOUTS] = "timed_out",
        };
        json_object *o = json_object_new_object();
        bool ok = o && put_string(o, "name", l->lun->disk.name);

        for (enum scsi_count i = 0; ok && i < _SCSI_COUNT_MAX; i++)
                ok = l->counts.known[i] ? put(o, keys[i], json_object_new_uint64(l->counts.value[i]), false)
                                        : put(o, keys[i], NULL, true);
        return whole(o, ok);
}

json_object *json_commands(const struct health *h)
{
        json_object *array = json_object_new_array();
        bool ok = array;

        for (size_t i = 0; ok && i < h->n_luns; i++)
                ok = append(array, json_lun_commands(h->luns + i));
        return whole(array, ok);
}

static json_object *json_lun_trim(const struct lun_health *l, enum driver driver)
{
        json_object *o = json_object_new_object();
        const struct trim_facts *t = &l->trim;
        bool ok = o && put_string(o, "name", l->lun->disk.name) &&
                  put(o, "used", json_object_new_boolean(t->used_bytes > 0), false) &&
                  put(o, "kept", json_object_new_boolean(t->kept), false) &&
                  put_string(o, "offered", trim_offer_to_string(t->offer)) && put_string_or_null(o, "mode", t->mode) &&
                  put(o, "max_bytes", json_object_new_uint64(t->used_bytes), false) &&
                  put_string_or_null(o, "advice", trim_advice(t, driver));

        return whole(o, ok);
}

json_object *json_trim(const struct health *h, enum driver driver)
{
        json_object *array = json_object_new_array();
        bool ok = array;

        for (size_t i = 0; ok && i < h->n_luns; i++)
                ok = append(array, json_lun_trim(h->luns + i, driver));
        return whole(array, ok);
}

static json_object *json_lun_smart(const struct lun_health *l)
{
        const struct smart *s = &l->smart;
        json_object *o = json_object_new_object();
        bool ok = o && put_string(o, "name", l->lun->disk.name) && put_string_or_null(o, "type", s->type) &&
                  put_string_or_null(o, "why_not", s->why_not) &&
                  put(o, "passed", s->passed < 0 ? NULL : json_object_new_boolean(s->passed), s->passed < 0) &&
                  put(o, "temperature", s->temperature == INT_MIN ? NULL : json_object_new_int(s->temperature),
                      s->temperature == INT_MIN);

        return whole(o, ok);
}

json_object *json_smart(const struct health *h)
{
        json_object *array = json_object_new_array();
        bool ok = array;

        for (size_t i = 0; ok && i < h->n_luns; i++)
                if (h->luns[i].smart.told)
                        ok = append(array, json_lun_smart(h->luns + i));
        return whole(array, ok);
}

static json_object *json_name(const struct mention *m)
{
        json_object *o = json_object_new_object();

        return o ? whole(o, put_string(o, "file", m->file) && put_string_or_null(o, "where", m->where) &&
                                    put_string(o, "name", m->name) && put_string(o, "why", devname_why(m->kind)) &&
                                    put_string_or_null(o, "instead", m->instead))
                 : NULL;
}

json_object *json_names(const struct mentions *m)
{
        json_object *array = json_object_new_array();
        bool ok = array;

        for (size_t i = 0; ok && i < m->n; i++)
                ok = append(array, json_name(m->list + i));
        return whole(array, ok);
}
