/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

#include "core/facts.h"
#include "core/policy.h"

/* A disk: everything behind one interface. The one structure that list, status, D-Bus and JSON are made of. */

#define BLOCK_NAME_MAX 32

struct block {                     /* a whole disk or a partition */
        char name[BLOCK_NAME_MAX]; /* "sda", "sda1", "sr0" */
        unsigned major, minor;
};

struct lun {
        unsigned lun;
        unsigned scsi_type;      /* INQUIRY peripheral device type: 0 disk, 5 CD-ROM */
        char scsi[32];           /* "0:0:0:1", the name below hostN/targetN */
        char sg[BLOCK_NAME_MAX]; /* "sg0", or empty */
        bool probing;            /* no block device yet: a driver is probing the SCSI device, as while a disk spins up */
        struct block disk;       /* name empty: no block device (yet) */
        uint64_t size;           /* bytes */
        uint64_t diskseq;        /* new with every instance; 0 before Linux 5.15 */
        struct block *parts;
        size_t n_parts;
};

struct user {
        enum user_kind kind;
        char device[BLOCK_NAME_MAX]; /* the node used: "sda1" */
        char *where;                 /* mount point; the holder's or loop device's name; else NULL */
        char *namespace;             /* "mnt:[4026532243]" if the mount is not in PID 1's, else NULL */
        pid_t pid;                   /* 0: not known */
        char *command;               /* NULL: not known */
        char *unit;                  /* the process's systemd unit; NULL: not known */
        char *via;                   /* below /proc, what leads to what it has open: "4711/fd/3"; else NULL */
        int mount_id;                /* of a mount in another namespace */
        bool unsure;                 /* a loop device, and the kernel does not answer which device it stands on */
        bool btrfs;                  /* a holder that is a file system over one or more devices, and no block device */
};

/* How an attempt on this attachment ended. */
struct outcome {
        int code;                     /* enum uasd_exit; -1: none yet */
        char step[24];                /* the step it ended in */
        char text[256];               /* a sentence */
        char claimed[BLOCK_NAME_MAX]; /* deferred, since somebody else has the claim of this node; else empty */
        char opened[BLOCK_NAME_MAX];  /* deferred, since somebody who stands in no list has it open, by the driver's count */
        enum driver from, to;         /* of the last switch (below); DRIVER_NONE as `to`: it was not ours, and is not known */
};

struct disk {
        struct facts facts;
        char host[16]; /* "host0", empty without a driver */
        struct lun *luns;
        size_t n_luns;
        struct user *users;
        size_t n_users;

        struct decision decision;
        enum state state;
        struct outcome outcome; /* of what is wanted now: none once something else is asked for. In uasctl: the last switch */
        struct outcome last;    /* of the last switch, as it is told, whatever has been asked for since */
        bool cancelled;         /* somebody said no to the switch that it wants: it stays where it is */
        char inhibited[256];    /* "WHO: WHY": nothing begins; else empty */
        bool unattended;        /* uasd would switch it, and is not running */
        char lease[160];        /* a sentence: who has it for himself; else empty */
};

/* Whether the name is that of a USB interface ("2-1.4:1.0"). */
bool interface_name_valid(const char *name);

/* All take NULL; free() is of the structure too, done() of what is in it. */
void luns_free(struct lun *luns, size_t n);
void users_free(struct user *users, size_t n);
void disk_done(struct disk *d);

/*
 * Somebody has claimed `node`. No list of open files tells an exclusive open from another: if nothing in the list claims
 * disks by its nature, whoever has a node open is taken for him; else somebody without a name is added.
 */
void users_claimed(struct user **users, size_t *n, const char *node);
/* Somebody without a name has `node` open: he is added to a list that is empty. */
void users_opened(struct user **users, size_t *n, const char *node);

/* Who is one of ours is no user; 0: nobody is. */
void users_without(struct user *users, size_t *n, pid_t ours);
/*
 * One of udev's workers, which reads a disk that is new to see what is on it, and puts up with its going away. Programs that its
 * rules run have names of their own. In an initramfs it has no unit.
 */
bool user_is_udev(const struct user *u);

/* The LUN has no block device, but its type gets one: the kernel has not probed it yet, or the probe failed. */
bool lun_awaited(const struct lun *l);
/* The number of LUNs that have a block device. */
size_t luns_with_disk(const struct lun *luns, size_t n);
/* The names of the block devices, "sda sdb", or "". Returns ret. */
char *luns_names(const struct lun *luns, size_t n, char *ret, size_t size);

/* True if major:minor is a whole disk or a partition of it; name gets the node's name. */
bool luns_have(const struct lun *luns, size_t n, unsigned major, unsigned minor, const char **ret_name);

/*
 * The same nodes, of the same media. A card that is put in or taken out, a partition table that is read anew, a LUN that is found
 * late make others of them.
 */
bool luns_same(const struct lun *a, size_t n_a, const struct lun *b, size_t n_b);

/* Its last try went wrong, as opposed to one that found the disk in use. */
bool disk_went_wrong(const struct disk *d);
/*
 * The sentence for `reason` in list and JSON: what the state means for this disk now, and why
 * ("Waits for uas until nothing uses it: /mnt/usb (sda1)."). Names in it are made harmless. Returns ret.
 */
char *disk_reason(const struct disk *d, char *ret, size_t size);
/* The root file system or /usr is on it. */
bool disk_has_root(const struct disk *d);
#define REMEDY_MAX 320
/* What to do about a disk that the running system itself is on; empty: it is not. Returns ret. */
char *disk_system_remedy(const struct disk *d, char *ret, size_t size);
/* What is on record of it, a clause: "distrusted: ...", "on trial", "passed its trial", or "". Returns ret. */
char *disk_history(const struct disk *d, char *ret, size_t size);
/* The stable word beside it (`reason_id`). */
const char *disk_reason_id(const struct disk *d);
