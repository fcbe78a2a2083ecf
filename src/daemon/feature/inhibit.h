/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/manager.h"

/* An inhibitor: no switch begins while it exists. */
struct inhibitor {
        TAILQ_ENTRY(inhibitor) link;
        struct manager *manager;
        char disk[INTERFACE_NAME_MAX]; /* by its port, for any disk there; "": all */
        char who[64], why[160];
        sd_event_source *end;
};
/* ret_fd: no switch begins while it or a copy is open. -EBUSY: there are too many inhibitors. */
int inhibit_add(struct manager *m, const char *disk, const char *who, const char *why, int *ret_fd);
/* Applies the inhibitors to a new disk. */
void inhibit_adopt(struct entry *e);
