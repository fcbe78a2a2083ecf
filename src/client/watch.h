/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "client/view.h"

/* Changes of a disk. */
enum disk_event {
        DISK_PRESENT, /* it was there when the watch began */
        DISK_ADDED,
        DISK_CHANGED,
        DISK_REMOVED,
};

/*
 * The disks, kept up to date by the daemon's signals, and its other signals. A signal about a disk
 * has that disk read again, and each state that a signal carries is reported.
 */
struct daemon_watch {
        const struct roots *roots;
        struct remote *remote;
        sd_bus_slot *slots[4];
        struct views disks;
        /* Called for each event of a disk; NULL: none. The disk is in `disks`. */
        void (*on_disk)(const struct view *v, enum disk_event e, void *data);
        const char *disk; /* on_step is called for this disk; NULL: for all */
        /* step is "" without one; NULL: no callback */
        void (*on_step)(const char *disk, const char *step, void *data);
        void *data;      /* of both */
        const char *job; /* the wait ends with this one, or NULL */
        int hangup_fd;   /* -EPIPE when its reader has gone; -1: none */
        bool changed;    /* a disk has changed; the caller resets it */
        bool gone;       /* the daemon has left the bus; the caller resets it */
        bool reread;
        bool ended; /* the job has ended, with */
        struct outcome outcome;
};

#define DAEMON_WATCH_NULL ((struct daemon_watch){.hangup_fd = -1, .outcome.code = -1})

/* Call it before the request. w must keep its address. 0 or a negative errno as from remote_read().
 */
int daemon_watch_open(struct daemon_watch *w, const struct roots *roots, struct remote *remote);
/* Reads all disks again, because no signal reports that users have changed. 0 or -errno. */
int daemon_watch_refresh(struct daemon_watch *w);
void daemon_watch_close(struct daemon_watch *w);
/* Waits until one of the above is true, or until `deadline` (now_boottime()). 0, -ETIMEDOUT,
 * -EPIPE, other -errno. */
int daemon_watch_next(struct daemon_watch *w, uint64_t deadline);
