/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sys/roots.h"

/*
 * Calls fn for every DIR/NAME.conf of /usr/lib and /etc, in the order of their names, until it returns less than 0; a name
 * in /etc hides the same name in /usr/lib. Returns 0, what fn returned, or -ENOMEM.
 */
int dropins_each(const struct roots *r, const char *dir, int (*fn)(int dirfd, const char *path, void *data), void *data);
