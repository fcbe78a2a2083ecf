/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/measure/lease.h"

/*
 * --remount: a file system that is measured under both drivers. Each switch needs an unused disk, so the file system is unmounted
 * before it and mounted after it, with the same type and options.
 */
struct remount {
        char *target, *type, *options;
        char partition[BLOCK_NAME_MAX]; /* the part of the device's name that follows that of the disk: "1", or "" */
        bool away;                      /* it is unmounted */
};

void remount_done(struct remount *m);

/*
 * Finds the file system of a path, which must be directly on one of `views` (of the kernel, with partitions). ret_name: the
 * disk's node. Reports errors. Returns an enum uasd_exit.
 */
int remount_find(const char *path, const struct views *views, struct remount *ret, const struct view **ret_view,
                 const char **ret_name);
/* Whether the file system is the only user of the disk in the daemon's view. Reports others. */
bool remount_is_alone(const struct remount *m, const struct view *v);
/* Unmounts and mounts it once, before hours of measuring. Reports errors. Returns an enum uasd_exit. */
int remount_try(struct remount *m, const char *block);
/*
 * Switches the disk. Returns the exit status of the switch and its reason, as lease_switch(). REFUSED: the file system is in use.
 * In every case the file system is mounted again if that is possible; m->away shows it.
 */
int remount_switch(struct remount *m, struct bench_lease *l, enum driver to, char *ret_text, size_t size);
