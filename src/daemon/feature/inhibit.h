/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/manager.h"

/* Work that no switch may disturb. */
struct inhibitor {
        struct inhibitor *next;
        struct manager *manager;
        char disk[INTERFACE_NAME_MAX]; /* by its port, whatever is plugged in there; "": any */
        char *who, *why;
        sd_event_source *end;
        int fd;
};
/* ret_fd: while it or a copy is open nothing begins. -EBUSY: there are too many. */
int inhibit_add(struct manager *m, const char *disk, const char *who, const char *why, int *ret_fd);
/* A new disk. */
void inhibit_adopt(struct entry *e);
void inhibit_free(struct manager *m);
