/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "client/remote.h"

/* What has become of a disk. */
enum disk_event {
        DISK_PRESENT, /* there when the watch began */
        DISK_ADDED,
        DISK_CHANGED,
        DISK_REMOVED,
};

/*
 * The disks as the daemon shows them, kept up to date by its signals, and what else it says unasked. Signals carry what has
 * changed: all disks are read once, and again only when a signal cannot be understood or uasd has been restarted.
 */
struct daemon_watch {
        struct remote *remote;
        sd_bus_slot *slots[4];
        struct views disks;
        /* Called for each event of a disk; NULL: none. The disk is in `disks`. */
        void (*on_disk)(const struct view *v, enum disk_event e, void *data);
        void *data;
        const char *disk;                                    /* the disk whose steps are given to on_step; NULL: all */
        void (*on_step)(const char *disk, const char *step); /* step: "" for none; NULL: nobody looks */
        const char *job;                                     /* ends with this one; NULL: none is waited for */
        int hangup_fd;                                       /* whoever reads what is written there has gone: -EPIPE; -1: none */
        bool changed;                                        /* anything about a disk; the caller resets it */
        bool gone;                                           /* the daemon left the bus; the caller resets it */
        bool reread;
        bool ended; /* the job did, as */
        struct outcome outcome;
};

#define DAEMON_WATCH_NULL ((struct daemon_watch){.hangup_fd = -1, .outcome.code = -1})

/* Before the call whose end is to be seen. w must stay where it is. 0 or a negative errno as of remote_read(). */
int daemon_watch_open(struct daemon_watch *w, struct remote *r);
/* Reads all disks again: a signal says that Reason and Busy have changed, but not to what. 0 or -errno. */
int daemon_watch_refresh(struct daemon_watch *w);
void daemon_watch_close(struct daemon_watch *w);
/* Until something of the above is true or `deadline` (now_boottime()) is there. 0, -ETIMEDOUT, -EPIPE, other -errno. */
int daemon_watch_next(struct daemon_watch *w, uint64_t deadline);
