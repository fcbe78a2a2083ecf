/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/config.h"
#include "core/facts.h"
#include "sys/io/roots.h"

/* All policies that are set, also for disks that are not plugged in. */
struct policy_row {
        char *id; /* "VID:PID:SERIAL", with "@PORT" if it is for a port; "VID:PID" or "*" in the configuration */
        enum policy policy;
        bool forced;
        enum policy_source source;
        char **disks; /* the interfaces to which it applies now */
        size_t n_disks;
};

struct policy_rows {
        struct policy_row *list;
        size_t n;
};

void policy_rows_done(struct policy_rows *p);
/* Adds a row; NULL: no memory. */
struct policy_row *policy_rows_add(struct policy_rows *p, const char *id, enum policy policy, bool forced,
                                   enum policy_source source);

/* plugged: the disks that are plugged in, completed by facts_complete(). Returns 0 or -errno. */
int policy_list(const struct roots *r, const struct config *c, const struct facts *const *plugged, size_t n_plugged,
                struct policy_rows *ret);
