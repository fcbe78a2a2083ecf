/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/disk.h"
#include "sys/block/unread.h"
#include "sys/io/clock.h"
#include "sys/io/roots.h"

/*
 * The kernel's exclusive claim on each whole disk of an interface. While it is held, no process can
 * mount, swap on, map or claim any part, in any mount namespace. Other uses (plain opens, loop
 * devices, sg) are found by users_find(deep) and watched by inotify.
 *
 * A mount of a claimed disk fails. So a switch first locks and watches the disk, which disturbs no
 * process, while it syncs and reads. It claims the disk at the last moment.
 */
struct claim {
        struct claimed {
                int fd, exclusive; /* the claim; -1: none (yet) */
                bool whole;        /* false: a partition node, open only for its page cache */
                char name[BLOCK_NAME_MAX];
                unsigned lun;
        } * nodes;
        size_t n;
        int inotify; /* after claim_take() all its events are of other processes */
        bool alone;  /* proved: no other process had a node open at the claim */
};

#define CLAIM_NULL ((struct claim){NULL, 0, -1, false})

/* Claims all or none. Returns 0, -EBUSY with the name of the busy node, or another -errno. */
int claim_take(const struct roots *roots, const struct lun *luns, size_t n_luns, struct claim *ret,
               char ret_busy[static BLOCK_NAME_MAX]);

/*
 * Opens and watches the whole disks, all or none. It neither claims nor locks them, so no other
 * process fails. Returns 0, or -errno with the name of a node.
 */
int claim_watch(const struct roots *roots, const struct lun *luns, size_t n_luns, struct claim *ret,
                char ret_failed[static BLOCK_NAME_MAX]);

/*
 * Opens and watches all or none, without a claim. Takes flock(LOCK_EX) on each whole disk, at the
 * latest at `deadline`: this waits for udev's worker and keeps the next one away. driver: present
 * driver of the disk, for `alone`. Returns 0, -ETIMEDOUT with the name of the locked node, or
 * another -errno.
 */
int claim_prepare(const struct roots *roots, const struct lun *luns, size_t n_luns,
                  enum driver driver, struct awake deadline, struct claim *ret,
                  char ret_busy[static BLOCK_NAME_MAX]);

/*
 * Returns the number of sectors ever written to the disks or discarded. Only this number shows the
 * writes of a file system; inotify shows those of a process.
 */
uint64_t claim_written(const struct roots *roots, const struct claim *c);

/* Closes the nodes of the partitions. They are needed only for the sync, and count as opens. The
 * close writes back later data. */
void claim_close_partitions(struct claim *c);

/*
 * Claims the prepared disks, without partitions. opens: driver_opens() from before the search for
 * users. If it is an -errno, the caller has to search again. Returns 0, -EBUSY with the name of the
 * busy node, or another -errno. Nothing is claimed after -EAGAIN or -ESTALE. -EAGAIN: another
 * process opened a disk of the driver meanwhile and may be about to mount it. -ESTALE: it wrote to
 * the disk.
 */
int claim_close_door(const struct roots *roots, enum driver driver, int opens, struct claim *c,
                     char ret_busy[static BLOCK_NAME_MAX]);

/* claim_has() returns true if claim_close_door() has claimed this LUN. claim_let_go() releases that
 * claim. */
bool claim_has(const struct claim *c, unsigned lun);
void claim_let_go(struct claim *c, unsigned lun);

/*
 * Returns true if the driver's reference count shows an open that the search of all open files did
 * not find. Only for a driver without another disk; before the claim or after it. No list contains
 * a node that is mapped into memory, or on its way through a socket.
 */
bool claim_has_strangers(const struct roots *roots, const struct lun *luns, size_t n_luns,
                         enum driver driver, struct claim *c);

/* Stops the drive of a claimed node (START STOP UNIT). Returns 0, also for a partition, or -errno.
 * It may take seconds. */
int claim_stop(const struct claim *c, size_t i);

/* Calls fsync(2) on every node: this writes its page cache and flushes the drive's cache. Returns 0
 * or the first -errno. */
int claim_sync(const struct claim *c, char ret_failed[static BLOCK_NAME_MAX]);

/*
 * The acts of other processes on the nodes since the claim, or since the last call. udev's workers
 * open a disk, find it locked and close it. So after an open the users are searched again, but the
 * switch need not end.
 */
enum disturbance {
        DISTURBANCE_NONE,
        DISTURBANCE_OPENED,
        DISTURBANCE_WRITTEN, /* or closed after an open for writing: sync again */
};
enum disturbance claim_disturbed(const struct claim *c);

/* For a claim of long duration: closes the partitions' nodes, since no process uses their page
 * cache, and ends the watch. */
void claim_keep(struct claim *c);

/*
 * claim_close() closes the nodes, and claim_drop() the inotify as well. In this close the kernel
 * waits for SRCU, 8 ms on a slow machine (fs/notify/mark.c:fsnotify_wait_marks_destroyed). So where
 * a user waits for the disk, the inotify stays open.
 */
void claim_close(struct claim *c);
void claim_drop(struct claim *c);

/*
 * Reads the places again, one after the other, each alone. `u` then has those that fail, or that
 * have no answer yet. Returns 0 or the -errno of the first one that fails.
 */
int unread_again(const struct claim *c, struct unread *u);
/* Reads the beginning of that LUN: a disk that cannot read even that fails as a whole. Returns 0 or
 * -errno. */
int unread_control(const struct claim *c, unsigned lun);

/*
 * Reads the facts that must be the same under both drivers: size, logical sector size, partition
 * table, first and last bytes of the disk and of each partition. One fact a line, LUN by LUN.
 * Physical block size and WWN are left out: they differ, since usb-storage hides VPD pages. partly:
 * of a LUN that cannot be read (EIO) the text has only the size and sector size. u gets the sample
 * that cannot be read, and may be NULL. Returns 0 and the text (to be freed), or -errno if a disk
 * cannot be read.
 */
int fingerprint_read(const struct claim *c, bool partly, char **ret, struct unread *u);

/* Returns true if both texts agree. Otherwise `ret` is the first line that differs, for a person.
 * `before` may be partial. */
bool fingerprint_same(const char *before, const char *after, char *ret, size_t size);
/* Returns true if the LUNs that are in both have the same size and logical sector size: no write
 * changes those. */
bool fingerprint_same_sizes(const char *before, const char *after);

/*
 * Tests a claimed disk before a process mounts it: direct reads all over each LUN, as many at once
 * as its queue takes. A bridge that stalls at depth fails here, not under a mount. Returns 0,
 * -ETIMEDOUT if an answer is missing at `deadline`, or the -errno of a read, such as -EIO. `u` then
 * has all such reads. The unbind ends the open ones. The queues stay until the process ends.
 */
int trial_reads(const struct roots *roots, const struct claim *c, struct awake deadline,
                struct unread *u);
