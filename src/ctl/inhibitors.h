/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>

#include "client/remote.h"

/* The programs that no switch may disturb, as reported by the daemon. */
struct inhibitors {
        struct inhibiting {
                char *disk, *who, *why; /* disk: "" for any */
        } * list;
        size_t n;
};

/* 0, or a negative errno as from remote_read(). -ENOSYS: the daemon has no inhibitors. */
int inhibitors_read(struct remote *r, struct inhibitors *ret);
void inhibitors_done(struct inhibitors *i);
/* INHIBITORS OUTPUT */
json_object *json_inhibitors(const struct inhibitors *i);
/* To stdout; 0 or -errno. */
int inhibitors_table(const struct inhibitors *i, bool legend);
