/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

#include "sys/io/roots.h"

/* A directory of *.conf files or others, below a root. */
struct dropin_dir {
        int root;
        const char *path;
};

/*
 * Calls fn for every file with that suffix of these directories, in the order of the names, until it returns less than 0. A name
 * in an earlier directory hides the same name in a later one. Returns 0, the result of fn, or -ENOMEM.
 */
int dropins_of(const struct dropin_dir *dirs, size_t n, const char *suffix, int (*fn)(int root, const char *path, void *data),
               void *data);

/* The same for *.conf of DIR in /etc and /usr/lib. */
int dropins_each(const struct roots *r, const char *dir, int (*fn)(int root, const char *path, void *data), void *data);
