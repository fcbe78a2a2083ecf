/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/disk.h"
#include "sys/io/clock.h"
#include "sys/io/roots.h"

/*
 * The kernel's exclusive claim on every whole disk of an interface: while it is held nobody mounts, swaps, maps or
 * claims any of it, in any mount namespace. What it does not see (plain opens, loop devices, sg) is
 * looked for by users_find(deep) and watched by inotify.
 *
 * Whoever mounts a claimed disk fails. So a switch locks and watches it first, which disturbs nobody, while it syncs
 * and reads, and closes the door at the last moment.
 */
struct claim {
        struct claimed {
                int fd, exclusive; /* the claim; -1 where there is none (yet) */
                bool whole;        /* else a partition node, open for its page cache alone */
                char name[BLOCK_NAME_MAX];
                unsigned lun;
        } * nodes;
        size_t n;
        int inotify; /* what it still tells of after claim_take() is somebody else's doing */
        bool alone;  /* proved: nobody else had any node open when the claim was taken */
};

#define CLAIM_NULL ((struct claim){NULL, 0, -1, false})

/* Claims all or none. Returns 0; -EBUSY with the busy node's name; other -errno. */
int claim_take(const struct roots *r, const struct lun *luns, size_t n_luns, struct claim *ret,
               char ret_busy[static BLOCK_NAME_MAX]);

/* Opens and watches the whole disks, all or none, and neither claims nor locks any: nobody fails because of that. -errno with a
 * node's name. */
int claim_watch(const struct roots *r, const struct lun *luns, size_t n_luns, struct claim *ret,
                char ret_failed[static BLOCK_NAME_MAX]);

/*
 * Opens and watches all or none, and claims nothing yet. Takes flock(LOCK_EX) on each whole disk, which waits for udev's
 * worker to be done and keeps the next one away, until `deadline`. driver: what has the disk, for `alone`.
 * Returns 0; -ETIMEDOUT with the locked node's name; other -errno.
 */
int claim_prepare(const struct roots *r, const struct lun *luns, size_t n_luns, enum driver driver, struct awake deadline,
                  struct claim *ret, char ret_busy[static BLOCK_NAME_MAX]);

/* How many sectors of the disks have ever been written or discarded: a file system, unlike a process, is told of by nothing else.
 */
uint64_t claim_written(const struct roots *r, const struct claim *c);

/* Those of the partitions are open to be synced alone, and count as opens: a close writes back what has come since then. */
void claim_close_partitions(struct claim *c);

/*
 * Claims what was prepared, without partitions. opens: driver_opens() from before it was looked who has it open, or -errno:
 * without a count it has to be looked again. Returns 0; -EBUSY with the busy node's name; -EAGAIN if somebody opened a disk of
 * the driver meanwhile, who may be about to mount it, -ESTALE if he wrote to it: nothing is claimed then. Other -errno.
 */
int claim_close_door(const struct roots *r, enum driver driver, int opens, struct claim *c, char ret_busy[static BLOCK_NAME_MAX]);

/* Whether claim_close_door() has claimed this LUN; and lets it go. */
bool claim_has(const struct claim *c, unsigned lun);
void claim_let_go(struct claim *c, unsigned lun);

/*
 * For a driver that has no other disk, and after a look at all open files that found nobody: true if there is somebody all the
 * same, by the driver's reference count, before the door is closed or after. A node mapped into memory, or on its way through a
 * socket, stands in no list.
 */
bool claim_has_strangers(const struct roots *r, const struct lun *luns, size_t n_luns, enum driver driver, struct claim *c);

/* fsync(2) of every node: writes its page cache and flushes the drive's. -errno of the first that fails. */
int claim_sync(const struct claim *c, char ret_failed[static BLOCK_NAME_MAX]);

/*
 * What others did to the nodes since the claim was taken, or since this was last asked. udev's workers open a disk to find it
 * locked and go away again: an open alone is a reason to look who has it open, not one to give up.
 */
enum disturbance {
        DISTURBANCE_NONE,
        DISTURBANCE_OPENED,
        DISTURBANCE_WRITTEN, /* or closed after having been open for writing: sync again */
};
enum disturbance claim_disturbed(const struct claim *c);

/* To be kept for long: without the partitions' nodes, whose page cache is nobody's affair then, and nothing is watched any more.
 */
void claim_keep(struct claim *c);

void claim_drop(struct claim *c);
