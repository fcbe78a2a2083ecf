/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/disk.h"
#include "sys/io/roots.h"

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
