/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <errno.h>

#include "sys/users/users.h"

/*
 * The search for the users of a disk. users.c calls the parts: the tables of mounts and swaps and what the disk is a member of
 * (mounts.c), devices that stand on the disk (stacked.c), loop devices (loops.c), processes (processes.c).
 */

/* A block device that stands on the disk, with others between them or not. */
struct stacked {
        struct block block;
        const char *device; /* the disk's node that it stands on, as it is called in the LUNs */
        bool direct;        /* nothing is between them */
};

struct user_search {
        const struct roots *r;
        bool any; /* the first user ends the search, and what may take long is not asked */
        const struct lun *luns;
        size_t n_luns;
        struct user *list;
        size_t n;
        char **namespaces; /* mount namespaces already read */
        size_t n_namespaces;
        struct stacked *stack;
        size_t n_stack;
};

/* The name of one of the disk's nodes, sg among them, as it stands in the LUNs; NULL: not one of them. */
const char *search_name(const struct user_search *s, const char *name);
/*
 * Whoever else uses this node need not be listed: a mounted disk may be mounted by anybody, in namespaces of his own, as often as
 * he likes. When those that are listed have ended the others are found.
 */
bool search_enough(const struct user_search *s, const char *device);
/* Of search_add_named() with `any`: the list has its user. */
#define SEARCH_OVER (-ECANCELED)

struct user *search_add(struct user_search *s, enum user_kind kind, const char *device);
/* The same; where may be NULL. 0, SEARCH_OVER, or -ENOMEM. */
int search_add_named(struct user_search *s, enum user_kind kind, const char *device, const char *where);
/* Whether a mount of this node is listed. */
bool search_is_mounted(const struct user_search *s, const char *device);
/* For n disks at once. namespace, pid: whose table it is; NULL for PID 1's. */
int search_mounts(struct user_search *list, size_t n, const char *path, const char *namespace, const char *pid);
/* Finds what stands on the disk, to be freed by whoever has the search. */
int search_stack(struct user_search *s);
/* On which of the disk's nodes a device stands; NULL: on none. */
const char *search_stacked_number(const struct user_search *s, unsigned major, unsigned minor);
const char *search_stacked_name(const struct user_search *s, const char *name);
/* Whether a block device has this name in /dev: of its own ("dm-0") or the mapper's ("mapper/NAME"). */
bool search_is_called(const struct user_search *s, const char *block, const char *name);
/* For n disks at once. */
int search_swaps(struct user_search *list, size_t n);
/* What stands directly on the disk. */
int search_holders(struct user_search *s);
/* The btrfs that it is a member of. */
int search_btrfs(struct user_search *s);
/* Loop devices, for n disks at once: by the path in sysfs, or, with `ask`, by the number that the kernel returns. */
int search_loops(struct user_search *list, size_t n, bool ask);
/* True the first time a mount namespace is met. */
bool search_first_sight(struct user_search *s, const char *namespace);
/* For dir_each() over /proc: one process, its mount namespace and what it has open. data: the search. */
int search_process(const char *pid, void *data);
/* Who a process is: its command and its unit, where they can be known. */
void search_who(const struct user_search *s, struct user *u, const char *pid);
