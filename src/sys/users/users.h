/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/disk.h"
#include "sys/io/roots.h"

/*
 * Who uses a disk, passively: no device is opened but, with `deep`, loop devices. holders/ and loop devices in
 * sysfs, swaps, mounts (PID 1's table; with `deep` those of every other mount namespace too), with `deep` also
 * open files of every process, which takes a walk over /proc, and loop devices by the number of the device that
 * they stand on. Returns 0 and the list (may be empty), or -errno: not knowing is not being free.
 */
int users_find(const struct roots *r, const struct lun *luns, size_t n_luns, bool deep, struct user **ret, size_t *ret_n);

/* One of several disks, and who uses it. */
struct users_of {
        const struct lun *luns;
        size_t n_luns;
        struct user *users;
        size_t n_users;
};
/* The same for all of them, with one walk over /proc. 0, or -errno and nobody's users. */
int users_find_each(const struct roots *r, struct users_of *of, size_t n, bool deep);

/* Quick answer to the same question, without `deep`: 1 used, 0 not seen to be, -errno. 2: used in a way whose end may not be
 * told, by a btrfs which is not mounted in PID 1's namespace or by an array. */
int users_any(const struct roots *r, const struct lun *luns, size_t n_luns);

/* Whether a holder is an md array: a member that is taken out of one that goes on has no uevent, of whichever of the two. */
bool users_is_array(const char *holder);

/*
 * True if the end of each of these uses is announced to whoever listens to PID 1's mount table, the swaps, uevents and closes
 * of the disk's nodes in /dev, and to `inotify`, where file systems that are mounted elsewhere are watched for their end. Walks
 * paths of other mount namespaces, where a file system may not answer: not for a process that others wait for.
 */
bool users_told(const struct roots *r, const struct lun *luns, size_t n_luns, int inotify, const struct user *users, size_t n);
