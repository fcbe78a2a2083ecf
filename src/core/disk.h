/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

#include "core/facts.h"
#include "core/policy.h"
#include "core/remedy.h"

/* A disk: everything behind one interface. list, status, D-Bus and JSON are made from this
 * structure. */

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
        bool probing;      /* no block device yet: a driver is probing the SCSI device, for example
                              during a spin-up */
        struct block disk; /* name empty: no block device (yet) */
        uint64_t size;     /* bytes */
        uint64_t diskseq;  /* new with every instance; 0 before Linux 5.15 */
        struct block *parts;
        size_t n_parts;
};

struct user {
        enum user_kind kind;
        char device[BLOCK_NAME_MAX]; /* the node used: "sda1" */
        char *where;     /* mount point; the holder's or loop device's name; else NULL */
        char *namespace; /* "mnt:[4026532243]" if the mount is not in PID 1's, else NULL */
        pid_t pid;       /* 0: unknown */
        char *command;   /* NULL: unknown */
        char *unit;      /* systemd unit of the process; NULL: unknown */
        char *via;       /* path of the open file below /proc: "4711/fd/3"; else NULL */
        int mount_id;    /* of a mount in another namespace */
        bool unsure;     /* a loop device whose backing device the kernel does not return */
        bool btrfs; /* a holder that is a file system on one or more devices, and no block device */
};

/* The result of a switch on this attachment. */
struct outcome {
        int code;                     /* enum uasd_exit; -1: none yet */
        char step[24];                /* the last step */
        char text[384];               /* a sentence, which may be in parts */
        char claimed[BLOCK_NAME_MAX]; /* deferred: another process has the claim of this node; else
                                         empty */
        char opened[BLOCK_NAME_MAX]; /* deferred: the driver's count shows an open of this node that
                                        no list shows; else empty */
        enum driver from,
                to; /* of the last switch (below); `to` DRIVER_NONE: a foreign switch, unknown */
};

/* Takes a line of uasd-switch --machine. Returns false for its end, and for all lines after it. */
bool outcome_take_line(struct outcome *o, const char *line);

#define LEASE_TEXT_MAX 192

struct disk {
        struct facts facts;
        char host[16]; /* "host0", empty without a driver */
        struct lun *luns;
        size_t n_luns;
        struct user *users;
        size_t n_users;

        struct decision decision;
        enum state state;
        struct outcome outcome; /* of the last switch; its code: for the present request, -1 after a
                                   newer one, not in uasctl */
        int last_code;          /* that of the last switch, independent of later requests */
        bool cancelled;  /* a user cancelled the switch that it wants: it stays on its driver */
        char *inhibited; /* "WHO: WHY." while no switch begins, else NULL */
        bool unattended; /* uasd would switch it, but is not running */
        char lease[LEASE_TEXT_MAX]; /* a sentence about the holder of the lease; else empty */
};

/* Returns true for the name of a USB interface ("2-1.4:1.0"). */
bool interface_name_valid(const char *name);
/* Finds the last component of a path that is the name of an interface. Returns false and changes
 * nothing if none is. */
bool interface_in_path(const char *path, char ret[static INTERFACE_NAME_MAX]);

/* All accept NULL. free() also frees the structure, done() only its contents. */
void luns_free(struct lun *luns, size_t n);
void users_free(struct user *users, size_t n);
void disk_done(struct disk *d);

/*
 * Adds the process that has claimed `node`. A list of open files does not show which open is
 * exclusive. If the list has no user that always claims disks, each process with the node open
 * counts as the claimer. If there is none, a user without a name is added.
 */
void users_claimed(struct user **users, size_t *n, const char *node);
/* Adds a user without a name that has `node` open, if the list is empty. */
void users_opened(struct user **users, size_t *n, const char *node);

/* Removes the process `ours` from the users; 0: none. */
void users_without(struct user *users, size_t *n, pid_t ours);
/*
 * Returns true for one of udev's workers, which reads a new disk to see its contents. It tolerates
 * that the disk disappears. Programs that its rules run have other names. In an initramfs it has no
 * unit.
 */
bool user_is_udev(const struct user *u);

/* Returns true if the LUN has no block device, but its type gets one: the kernel has not probed it
 * yet, or the probe failed. */
bool lun_awaited(const struct lun *l);
/* Returns the number of LUNs that have a block device. */
size_t luns_with_disk(const struct lun *luns, size_t n);
/* Returns the sum of the sizes of all LUNs. */
uint64_t disk_size(const struct disk *d);
/* Writes the names of the block devices, "sda sdb", or "". Returns ret. */
char *luns_names(const struct lun *luns, size_t n, char *ret, size_t size);

/* The block devices of a LUN: the disk, then its partitions. Returns the one behind b, the first
 * one for NULL; NULL: no more. */
const struct block *lun_next_node(const struct lun *l, const struct block *b);
/* NOLINTBEGIN(bugprone-macro-parentheses): `b` is declared here */
#define FOREACH_NODE(b, l)                                                                         \
        for (const struct block *b = lun_next_node(l, NULL); b; b = lun_next_node(l, b))
/* NOLINTEND(bugprone-macro-parentheses) */

/* Returns the disk or partition of this name; NULL: none of these. */
const struct block *luns_find(const struct lun *luns, size_t n, const char *name);
/* Returns true if major:minor is a whole disk or a partition of it; ret_name gets the name of the
 * node. */
bool luns_have(const struct lun *luns, size_t n, unsigned major, unsigned minor,
               const char **ret_name);

/*
 * Returns true if both have the same nodes and media. A card that is put in or taken out, a
 * partition table that is read again, or a LUN that is found late makes a difference.
 */
bool luns_same(const struct lun *a, size_t n_a, const struct lun *b, size_t n_b);
