/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#define KERNEL_RELEASE_MAX 65

/*
 * The trees of the machine as directory descriptors, so that a test can use a tree in a temporary
 * folder. -1: the tree is missing (no /var yet, no /run in a rescue shell).
 */
struct roots {
        int sys, proc, dev, run, etc, lib /* /usr/lib */, var;
        char kernel[KERNEL_RELEASE_MAX]; /* the release that runs, as in uname(2); empty: unknown */
};

#define ROOTS_NULL ((struct roots){-1, -1, -1, -1, -1, -1, -1, ""})
/* All of them, for a list of descriptors. */
#define ROOTS_FDS(r) (r)->sys, (r)->proc, (r)->dev, (r)->run, (r)->etc, (r)->lib, (r)->var

/* prefix: NULL for the machine itself. Returns 0, or -errno if it has no sysfs. */
int roots_open(struct roots *ret, const char *prefix);
/* Opens /var again, which may have been mounted meanwhile. prefix: as above. */
void roots_reopen_var(struct roots *roots, const char *prefix);
void roots_close(struct roots *roots);
