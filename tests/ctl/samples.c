/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "samples.h"

#include "common/names.h"
#include "ctl/schema.h"

struct view sample_view(const char *interface, const char *block, const char *serial)
{
        struct view v = {.disk.state = STATE_SETTLED, .disk.outcome.code = -1};
        struct facts *f = &v.disk.facts;

        (void) copy_string(f->interface, sizeof(f->interface), interface);
        (void) copy_string(f->port, sizeof(f->port), interface);
        f->port[strcspn(f->port, ":")] = '\0';
        f->vid = 0x1209;
        f->pid = 0x5a5a;
        f->bcd = 0x0214;
        f->speed_mbps = 5000;
        f->caps = (struct uas_caps){.bot = true, .uas = true, .pipes = true, .uas_alt = 1};
        f->driver = DRIVER_USB_STORAGE;
        f->authorized = true;
        f->unknown_target = DRIVER_UAS;
        (void) copy_string(f->driver_name, sizeof(f->driver_name), DRIVER_NAME_BOT);
        (void) copy_string(f->usb_version, sizeof(f->usb_version), "3.20");
        (void) copy_string(f->manufacturer, sizeof(f->manufacturer), "Maker");
        (void) copy_string(f->product, sizeof(f->product), "Disk");
        (void) copy_string(f->serial, sizeof(f->serial), serial);
        (void) copy_string(v.disk.host, sizeof(v.disk.host), "host3");
        if (block) {
                v.disk.luns = calloc(1, sizeof(*v.disk.luns));
                assert_non_null(v.disk.luns);
                v.disk.n_luns = 1;
                v.disk.luns[0].size = 2000398934016;
                (void) copy_string(v.disk.luns[0].disk.name, BLOCK_NAME_MAX, block);
        }
        (void) copy_string(v.reason, sizeof(v.reason), "Nothing speaks against it.");
        (void) copy_string(v.reason_id, sizeof(v.reason_id), "fastest");
        return v;
}

void sample_user(struct view *v, enum user_kind kind, const char *device, const char *where)
{
        struct user *grown = reallocarray(v->disk.users, v->disk.n_users + 1, sizeof(*grown)), *u;

        assert_non_null(grown);
        v->disk.users = grown;
        u = &grown[v->disk.n_users++];
        *u = (struct user){.kind = kind, .where = where ? strdup(where) : NULL};
        (void) copy_string(u->device, sizeof(u->device), device);
}

json_object *sample_json(const struct view *v, const char *key, json_object *value)
{
        json_object *list = json_list(), *disk = json_disk(v);

        if (key)
                put(disk, key, value);
        append(list, disk);
        return json_document("disks", list);
}
