/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "client/remote.h"

/* A step of a switch that the daemon carries out; step is empty when the job does not run. */
struct job_step {
        char disk[INTERFACE_NAME_MAX], state[16], step[24];
};

/*
 * Reads the PropertiesChanged signal of a job, behind its first argument. Returns false if it is about another disk than `disk`
 * (NULL: any), or cannot be read.
 */
bool job_step_read(sd_bus_message *m, const char *disk, struct job_step *ret);
typedef void (*job_step_fn)(const char *disk, const char *step);

/* What the daemon says unasked: that a job ended, that a disk has another state. */
struct watch {
        struct remote *remote;
        sd_bus_slot *slots[4];
        const char *disk;    /* the disk whose steps are given to on_step */
        job_step_fn on_step; /* NULL: nobody looks */
        const char *job; /* ends with this one; NULL: none is waited for */
        bool changed;    /* something about a disk: read again */
        bool gone;       /* the daemon left the bus */
        bool ended;      /* the job did, as */
        struct outcome outcome;
};

/* Before the call whose end is to be seen. w and disk must stay where they are. 0 or -errno. */
int watch_open(struct watch *w, struct remote *r, const char *disk, job_step_fn on_step);
void watch_close(struct watch *w);
/* Until something of the above is true or `deadline` (now_boottime()) is there. 0, -ETIMEDOUT, other -errno. */
int watch_next(struct watch *w, uint64_t deadline);
