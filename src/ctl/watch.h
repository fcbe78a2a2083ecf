/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ctl/remote.h"

/* What the daemon says unasked: that a job ended, that a disk has another state. */
struct watch {
        struct remote *remote;
        sd_bus_slot *slots[4];
        const char *disk; /* the steps of its switch are shown (ctl/progress.h) */
        const char *job; /* ends with this one; NULL: none is waited for */
        bool changed;    /* something about a disk: read again */
        bool gone;       /* the daemon left the bus */
        bool ended;      /* the job did, as */
        struct outcome outcome;
};

/* Before the call whose end is to be seen. w and disk must stay where they are. 0 or -errno. */
int watch_open(struct watch *w, struct remote *r, const char *disk);
void watch_close(struct watch *w);
/* Until something of the above is true or `deadline` (now_boottime()) is there. 0, -ETIMEDOUT, other -errno. */
int watch_next(struct watch *w, uint64_t deadline);
