/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/program.h"
#include "client/watch.h"

/*
 * While a descriptor is open, the daemon reserves a disk for us. Its claim stays, no program mounts the disk, and the daemon
 * restores the driver when the descriptor is closed in any way.
 */
struct bench_lease {
        const struct bench_context *context;
        struct remote *remote; /* NULL: no lease */
        struct daemon_watch watch;
        const char *interface; /* of the view */
        unsigned lun;          /* the LUN that is measured; its node may have another name after a switch */
        int fd;                /* -1: none */
        bool distrusted;       /* the daemon has distrusted the disk since the lease began */
        char block[BLOCK_NAME_MAX];
        char history[320]; /* the daemon's clause */
};

#define LEASE_NULL ((struct bench_lease){.fd = -1, .watch = DAEMON_WATCH_NULL})

/*
 * Begins to watch LUN `lun` of v, and takes the lease unless the disk is `mounted` between its switches. Reports errors. Returns
 * an enum uasd_exit, for example REFUSED with the users of the disk, or UNAUTHORIZED. l must keep its address.
 */
int bench_lease_begin(const struct bench_context *c, struct remote *r, const struct view *v, unsigned lun, bool mounted,
                      struct bench_lease *l);
void lease_end(struct bench_lease *l);

/*
 * Switches the disk under the lease and waits for its node, in spite of signals. Returns the exit status of the switch, and the
 * reason in text.
 */
int lease_switch(struct bench_lease *l, enum driver to, char *ret_text, size_t size);

/* Reads the pending messages of the daemon without waiting. Returns 0. -ENODEV: the disk is gone. -EPIPE: the daemon has ended
 * the lease, because another program took the disk, or because it was stopped. */
int lease_look(struct bench_lease *l);

/*
 * For a disk that was on uas before the lease and failed there. The daemon would restore uas. So after the lease this function
 * requests usb-storage until the disk is unplugged, as a user would, and reports the result.
 */
void lease_keep_off_uas(const struct bench_context *c, const char *interface);

/*
 * --remount: a file system that is measured under both drivers. Each switch needs an unused disk, so the file system is unmounted
 * before it and mounted after it, with the same type and options.
 */
struct remount {
        char *target, *type, *options;
        char partition[BLOCK_NAME_MAX]; /* the part of the device's name that follows that of the disk: "1", or "" */
        bool away;                      /* it is unmounted */
};

void remount_done(struct remount *m);

/*
 * Finds the file system of a path, which must be directly on one of `views` (of the kernel, with partitions). ret_name: the
 * disk's node. Reports errors. Returns an enum uasd_exit.
 */
int remount_find(const char *path, const struct views *views, struct remount *ret, const struct view **ret_view,
                 const char **ret_name);
/* Whether the file system is the only user of the disk in the daemon's view. Reports others. */
bool remount_is_alone(const struct remount *m, const struct view *v);
/* Unmounts and mounts it once, before hours of measuring. Reports errors. Returns an enum uasd_exit. */
int remount_try(struct remount *m, const char *block);
/*
 * Switches the disk. Returns the exit status of the switch and its reason, as lease_switch(). REFUSED: the file system is in use.
 * In every case the file system is mounted again if that is possible; m->away shows it.
 */
int remount_switch(struct remount *m, struct bench_lease *l, enum driver to, char *ret_text, size_t size);
