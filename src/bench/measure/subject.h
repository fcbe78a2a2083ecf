/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/measure/profile.h"
#include "client/remote.h"

/* --remount: a file system of the disk. */
struct remount {
        char *target, *type, *options;
        char partition[BLOCK_NAME_MAX]; /* the part of the device's name that follows that of the disk: "1", or "" */
        bool away;                      /* it is unmounted */
};

/* The subject of a measurement: an unused disk, or a file. */
struct subject {
        const struct bench_context *context;
        struct remote remote;
        struct views views;
        const struct view *view; /* the disk; NULL: a file on none that uasd manages, or on several */
        unsigned lun;
        bool named;                      /* the user has named this LUN, or it is the only one */
        const char *interface;           /* of the view, or NULL */
        struct attachment_id attachment; /* of the disk when it was found */
        char block[BLOCK_NAME_MAX];      /* the node of the LUN, which may have another name after a switch */
        enum driver driver;              /* present driver; DRIVER_NONE: not known (file) */
        enum driver first, second;       /* second is DRIVER_NONE without a comparison */
        char *path;                      /* of the file; NULL: the raw disk */
        char **hosts;                    /* of several machines; NULL: only this one */
        uint64_t available;              /* bytes */
        int scratch;                     /* the scratch file of this machine, or -1 */
        bool writes;                     /* writing is permitted */
        bool lay_out;                    /* the file is empty and must be written before it is read */
        bool remounts;                   /* its file system is unmounted for each switch */
        struct remount remount;
        /* During the measurement of the raw disk, or of a file with `remounts`. */
        struct daemon_watch watch; /* without a remote: none */
        int lease;                 /* -1: none */
        bool distrusted;           /* the daemon has distrusted the disk since the lease began */
        char history[320];         /* the daemon's clause */
        char why[256];             /* the reason why a switch failed */
};

#define SUBJECT_NULL ((struct subject){.scratch = -1, .lease = -1, .watch = DAEMON_WATCH_NULL})

void subject_done(struct subject *s);

/* These check the subject before anything begins, report errors, and return an enum uasd_exit. */

/* An unused disk, for its raw node. */
int find_disk(struct subject *s, const char *what);
/* A file on any file system. what: its disk, or NULL to find it, if uasd manages it. */
int find_file(struct subject *s, const char *what);
/* --remount: a directory on a file system that is the only user of its disk. */
int find_mounted(struct subject *s, const char *what);
/*
 * --destroy-data: the user must type the disk's serial number. Without a terminal it comes from the standard input. A disk
 * without a serial number is confirmed by its interface. Returns true if it matches.
 */
bool ask_destroy(const struct subject *s);

/* Returns true if the disk has not been unplugged since it was found, also if its interface is there again. */
bool subject_is_there(const struct subject *s);
/*
 * Returns true if an open node belongs to the LUN of the subject. A name may belong to another disk by now. A number cannot, as
 * long as the node is open: the kernel gives it to no other disk.
 */
bool subject_owns(const struct subject *s, int node);

/* ---- scratch files ---- */

/* Minimum of a scratch file, unless the user sets a size. Below that, caches of hard disks answered. */
#define SCRATCH_SIZE (5ULL << 30)

/*
 * Makes a file to write to, empty and `size` long, in a directory of the user. It never has a name, so it disappears with its
 * last descriptor in every case. Returns the descriptor, or -errno. -ENOSPC: too little room, ret_free is the free space.
 */
int scratch_make(const char *directory, uint64_t size, uint64_t *ret_free);
/* As much of `wanted` as leaves half of the free space free, but at least `least`. */
uint64_t scratch_fitting(const char *directory, uint64_t wanted, uint64_t least);
/* --write without --size: the region of the largest pattern, limited by the free space. */
void size_scratch(struct subject *s, const struct profile *profile);
/* --write: makes the scratch file, after all questions. Reports errors, and returns an enum uasd_exit. */
int make_scratch(struct subject *s);

/* ---- the way to the other driver ---- */

/*
 * Begins to watch the disk. For the raw disk it takes a lease of the daemon. While its descriptor is open, the daemon's claim
 * stays, no program mounts the disk, and the daemon restores the driver when the descriptor is closed in any way. With --remount
 * the file system is unmounted and mounted once instead, before hours of measuring. Reports errors. Returns an enum uasd_exit,
 * for example REFUSED with the users of the disk, or UNAUTHORIZED. s must keep its address.
 */
int bench_lease_begin(struct subject *s);
void lease_end(struct subject *s);

/*
 * Switches the disk and waits for its node, in spite of signals. A switch needs an unused disk. So with --remount the file system
 * is unmounted before it. It is mounted after it with the same type and options, in every case in which that is possible. Then it
 * has no scratch file. Returns the exit status of the switch; s->why is the reason. REFUSED: the file system is in use.
 */
int lease_switch(struct subject *s, enum driver to);

/* Reads the pending messages of the daemon without waiting, if it is watched. Returns 0. -ENODEV: the disk is gone. -EPIPE: the
 * daemon has ended the lease, because another program took the disk, or because it was stopped. */
int lease_look(struct subject *s);

/*
 * For a disk that was on uas before the lease and failed there. The daemon would restore uas. So after the lease this function
 * requests usb-storage until the disk is unplugged, as a user would, and reports the result.
 */
void lease_keep_off_uas(struct subject *s);
/* Reports that the disk stays on usb-storage. */
void lease_tell_kept_off(const struct subject *s);

/*
 * Finds the file system of a path, which must be directly on one of `views` (of the kernel, with partitions). ret_name: the
 * disk's node. Reports errors. Returns an enum uasd_exit.
 */
int remount_find(const char *path, const struct views *views, struct remount *ret, const struct view **ret_view,
                 const char **ret_name);
/* Whether the file system is the only user of the disk in the daemon's view. Reports others. */
bool remount_is_alone(const struct remount *m, const struct view *v);
void remount_done(struct remount *m);
