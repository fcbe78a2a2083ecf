/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/json.h"
#include "ctl/json-parts.h"

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
                ok = l->counts.known[i] ? put(o, keys[i], json_object_new_uint64(l->counts.value[i]), false) : put(o, keys[i], NULL, true);
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
