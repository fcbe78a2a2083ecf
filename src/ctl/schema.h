/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/bridge-db.h"
#include "core/disk-words.h"
#include "core/disk.h"
#include "core/explain.h"
#include "core/keepoff.h"
#include "core/link.h"
#include "core/policy.h"
#include "core/quirk-slips.h"
#include "ctl/events.h"
#include "ctl/health.h"
#include "sys/state/settings.h"

/* The objects of uasctl-json(7). */

json_object *json_disk(const struct view *v);
/* all: also those that do not fit */
json_object *json_rows(const struct explain_row *rows, size_t n, bool all);
json_object *json_quirks(const struct quirk_word *words, size_t n);
json_object *json_slip(const struct quirk_slip *s);
json_object *json_link(const struct link_facts *l);
json_object *json_name(const char *file, const char *where, const char *name, enum devname kind,
                       const char *instead);
json_object *json_inhibitor(const char *disk, const char *who, const char *why);
json_object *json_sign(const char *what, unsigned count, const char *blame);
/* LEASE. v: NULL: it was unplugged. Takes ownership of signs. */
json_object *json_lease(int code, const char *text, bool lost, const struct view *v,
                        json_object *signs);
json_object *json_commands(const struct health *h);
json_object *json_smart(const struct health *h);
json_object *json_trim(const struct health *h, enum driver driver);
/* bcd: the firmware, or -1 if it is not known */
json_object *json_database(const struct db_entry *e, int bcd, const char *platform);

/* BRIDGE. Takes ownership of database. */
json_object *json_bridge(uint16_t vid, uint16_t pid, json_object *database);

/* EVENT. changed: names of members, NULL-terminated. */
json_object *json_event(const struct view *v, const char *event, uint64_t time_usec,
                        const char *const *changed);
/* LOG OUTPUT. first: the number of old events to leave out. */
json_object *json_events(const struct events *e, size_t first);

/* POLICIES OUTPUT */
json_object *json_policies(const struct policy_rows *p);

/* KERNEL OUTPUT. modprobe is NULL if usb-storage is built in. initramfs: a command, or NULL. */
json_object *json_kernel(const struct keepoff *command_line, const struct keepoff *modprobe,
                         const char *initramfs);
