/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

/*
 * The trees of the machine as directory descriptors, so that everything above can be run against a tree in
 * a temporary folder. -1 where a tree is missing (no /var yet, no /run in a rescue shell).
 */
struct roots {
        int sys, proc, dev, run, etc, lib /* /usr/lib */, var;
};

#define ROOTS_NULL ((struct roots){-1, -1, -1, -1, -1, -1, -1})

/* prefix: NULL for the machine itself. Returns 0, or -errno if there is no sysfs below it. */
int roots_open(struct roots *ret, const char *prefix);
/* /var may have been mounted since. prefix: as above. */
void roots_reopen_var(struct roots *r, const char *prefix);
void roots_close(struct roots *r);
