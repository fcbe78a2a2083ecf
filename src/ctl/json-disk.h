/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "client/view.h"
#include "core/bridge-db.h"
#include "core/explain.h"
#include "core/keepoff.h"
#include "core/link.h"
#include "core/quirk-words.h"
#include "ctl/events.h"
#include "ctl/health.h"
#include "ctl/mentions.h"
#include "term/json.h"

/* The schema of uasctl(1), JSON. NULL: no memory. */
json_object *json_disk(const struct view *v);
json_object *json_rows(const struct explain_row *rows, size_t n);
/* {"version":1,"kernel":{...}}, of uasctl policy --kernel. */
struct json_kernel {
        const struct keepoff *command_line, *modprobe; /* the latter NULL where usb-storage is built in */
        const char *initramfs;                         /* command, or NULL */
};
json_object *json_kernel(const struct json_kernel *k);
json_object *json_link(const struct link_facts *l);
/* What struct health has of its LUNs: json-health.c. */
json_object *json_commands(const struct health *h);
json_object *json_smart(const struct health *h);
json_object *json_trim(const struct health *h, enum driver driver);
json_object *json_names(const struct mentions *m);
json_object *json_quirks(const struct quirk_word *words, size_t n);
json_object *json_database(const struct db_entry *e, uint16_t bcd, const char *platform);
/* {"version":1,"disks":[...]}; takes disks. */
json_object *json_document(json_object *disks);
/* One disk with a member more; takes value. */
json_object *json_disk_with(const struct view *v, const char *key, json_object *value);
/* With several; takes their values, also when it fails or one of them is NULL. */
struct json_member {
        const char *key;
        json_object *value;
};
json_object *json_disk_with_all(const struct view *v, const struct json_member *members, size_t n);
/* The disk itself, with several. */
json_object *json_object_with_all(const struct view *v, const struct json_member *members, size_t n);
json_object *json_views(const struct views *v);

/* One thing that happened to a disk; changed: names of members, NULL-terminated. */
json_object *json_event(const struct view *v, const char *event, uint64_t time_usec, const char *const *changed);

/* What happened, and whether there was a journal to know it from. */
json_object *json_events(const struct events *e);
