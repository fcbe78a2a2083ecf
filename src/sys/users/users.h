/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

#include "core/disk.h"
#include "sys/io/roots.h"

/*
 * Finds the users of a disk: holders/ and loop devices in sysfs, swaps, and mounts of PID 1's
 * table. `deep` adds the mounts of all other mount namespaces and the open files of all processes,
 * which takes a walk over /proc. It also finds loop devices by the number of their backing device.
 * Opens no device, but with `deep` the loop devices. Returns 0 and the list (may be empty), or
 * -errno, which counts as in use.
 */
int users_find(const struct roots *roots, const struct lun *luns, size_t n_luns, bool deep,
               struct user **ret, size_t *ret_n);

/* One of several disks, and its users. */
struct users_of {
        const struct lun *luns;
        size_t n_luns;
        struct user *users;
        size_t n_users;
};
/* The same for all of them, with one walk over /proc. Returns 0, or -errno and no users. */
int users_find_each(const struct roots *roots, struct users_of *of, size_t n, bool deep);

/*
 * A quick check without `deep`. Returns 0 if no user was found, 1 if there is one, or -errno. 2:
 * the end of the use may not be reported, for an array or a btrfs that is not mounted in PID 1's
 * namespace.
 */
int users_any(const struct roots *roots, const struct lun *luns, size_t n_luns);

/*
 * Returns true if uasd will notice the end of each of these uses. Its sources are PID 1's mount
 * table, the swap table, uevents and closes of the disk's nodes in /dev. For file systems that are
 * mounted elsewhere, this function adds watches to `inotify`. Walks paths of other mount
 * namespaces, where a file system may hang: not for a process that others wait for.
 */
bool users_told(const struct roots *roots, const struct lun *luns, size_t n_luns, int inotify,
                const struct user *users, size_t n);
/* Returns true if a loop device surely stands on the node of this disk: one that does not answer
 * may be another disk's. */
bool user_loop_sure(const struct roots *roots, const struct user *u);
