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

/* Returns true if a holder is an md array. If a member leaves a running array, neither of the two
 * has a uevent. */
bool users_is_array(const char *holder);

/*
 * Returns true if uasd will notice the end of each of these uses. Its sources are PID 1's mount
 * table, the swap table, uevents and closes of the disk's nodes in /dev. For file systems that are
 * mounted elsewhere, this function adds watches to `inotify`. Walks paths of other mount
 * namespaces, where a file system may hang: not for a process that others wait for.
 */
bool users_told(const struct roots *roots, const struct lun *luns, size_t n_luns, int inotify,
                const struct user *users, size_t n);

/* ---- who.c ---- */

/* Fills in a process, with its command and its unit if they are known. */
void user_take_process(const struct roots *roots, struct user *u, pid_t pid);
/* Returns true if PID 1 runs a unit of this name. */
bool user_unit_runs(const struct roots *roots, const char *unit);
/* Returns true if the process still exists, with the same command and mount namespace. */
bool user_still_there(const struct roots *roots, const struct user *u);
/* Returns true if SIGTERM does not end the process. */
bool user_ignores_term(const struct roots *roots, const struct user *u);
/* Lists the first processes in a mount namespace, as far as they can be read. Returns 0 or -errno.
 */
int users_of_namespace(const struct roots *roots, const char *namespace, struct user **ret,
                       size_t *ret_n);

/* Returns true if a loop device surely stands on the node of this disk: one that does not answer
 * may be another disk's. */
bool user_loop_sure(const struct roots *roots, const struct user *u);

/* ---- tables ---- */

/* A line of a mount table or swap table. */
struct mount_line {
        const char
                *source; /* a path; NULL: a tag such as UUID=, a name such as "proc", or nothing */
        const char *target; /* NULL in a swap table */
        dev_t devno;        /* of mountinfo; else 0 */
        int id;             /* of mountinfo; else 0 */
};

enum mount_table {
        TABLE_MOUNTINFO, /* /proc/PID/mountinfo */
        TABLE_SWAPS,     /* /proc/swaps */
        TABLE_FSTAB,
};

/* Calls fn for every valid line, until it returns less than 0. Returns 0, the result of fn, or
 * -errno. */
int mount_lines(int dirfd, const char *path, enum mount_table table,
                int (*fn)(const struct mount_line *line, void *data), void *data);
