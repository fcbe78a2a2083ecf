/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <errno.h>

#include "sys/users/users.h"

/*
 * The search for the users of a disk. users.c calls the parts. mounts.c reads mount and swap tables
 * and finds what the disk is a member of. search.c finds devices that stand on the disk, kernel.c
 * loop devices and targets of the kernel, processes.c processes.
 */

/* A block device that stands on the disk, directly or not. */
struct stacked {
        struct block block;
        const char *device; /* the disk's node below it, with its name in the LUNs */
        bool direct;        /* it stands directly on the disk */
};

struct user_search {
        const struct roots *roots;
        bool any; /* the first user ends the search, and slow sources are not asked */
        const struct lun *luns;
        size_t n_luns;
        struct user *list;
        size_t n;
        char **namespaces; /* mount namespaces already read */
        size_t n_namespaces;
        struct stacked *stack;
        size_t n_stack;
};

/* Returns the name of a node of the disk, sg included, as in the LUNs; NULL: not one of them. */
const char *search_name(const struct user_search *s, const char *name);
/* The same for the path of a node: its name in /dev, or the number of another node, in a chroot or
 * made by mknod. */
const char *search_path(const struct user_search *s, const char *path);
/*
 * Returns true if enough users of this node are listed. A mounted disk may be mounted in any number
 * of other namespaces. These are found when the listed users have ended.
 */
bool search_enough(const struct user_search *s, const char *device);
/* Result of search_add_named() with `any`: the list has its user. */
#define SEARCH_OVER (-ECANCELED)

struct user *search_add(struct user_search *s, enum user_kind kind, const char *device);
/* The same; where may be NULL. Returns 0, SEARCH_OVER, or -ENOMEM. */
int search_add_named(struct user_search *s, enum user_kind kind, const char *device,
                     const char *where);
/* Returns true if a mount of this node is listed. */
bool search_is_mounted(const struct user_search *s, const char *device);
/* For n disks at once. namespace, pid: owner of the table, or NULL for PID 1. */
int search_mounts(struct user_search *list, size_t n, const char *path, const char *namespace,
                  const char *pid);
/* Finds the devices that stand on the disk. The owner of the search has to free them. */
int search_stack(struct user_search *s);
/* Returns the disk's node on which a device stands; NULL: none. */
const char *search_stacked_number(const struct user_search *s, unsigned major, unsigned minor);
const char *search_stacked_name(const struct user_search *s, const char *name);
/* Returns true if a block device has this name in /dev: its own ("dm-0") or the mapper's
 * ("mapper/NAME"). */
bool search_is_called(const struct user_search *s, const char *block, const char *name);
/* For n disks at once. */
int search_swaps(struct user_search *list, size_t n);
/* Finds the devices that stand directly on the disk. */
int search_holders(struct user_search *s);
/* Finds the btrfs that the disk is a member of. */
int search_btrfs(struct user_search *s);
/* Loop devices, for n disks at once: by the path in sysfs, or, with `ask`, by the number that the
 * kernel returns. */
int search_loops(struct user_search *list, size_t n, bool ask);
/* Finds targets of the kernel that have a node open. */
int search_targets(struct user_search *s);
/* Mount namespaces whose table has been read: returns true if this one is among them; adds one, and
 * returns 0 or -ENOMEM. */
bool search_has_read(const struct user_search *s, const char *namespace);
int search_note_read(struct user_search *s, const char *namespace);
/* For dir_each() over /proc: searches the mount namespace and the open files of one process. data:
 * the search. */
int search_process(const char *pid, void *data);
