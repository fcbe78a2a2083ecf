/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

#include "common/util.h"
#include "sys/io/roots.h"

/* Programs of the administrator in a folder below /etc. */

#define HOOK_PATH "PATH=/usr/sbin:/usr/bin:/sbin:/bin"
#define HOOK_USEC (30 * USEC_PER_SEC)

/*
 * Starts FOLDER/NAME with these arguments (NULL: no more) in this environment. root: the folder of
 * the machine, or NULL. Returns its pid, or -errno; -EPERM if it is no executable file of root, or
 * if another user may write to it.
 */
pid_t hook_start(const struct roots *roots, const char *root, const char *folder, const char *name,
                 const char *const args[static 2], const char *const *env);
/* Waits for its end, and kills it after HOOK_USEC, together with its children. Returns as
 * child_exit_status(). */
int hook_end(pid_t pid);
