/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/remedy.h"
#include "sys/io/roots.h"

/* Returns true if the system has this program, in /usr/bin, /usr/sbin, /bin or /sbin: only root
 * writes there. The same for a path below /etc. */
bool program_there(const struct roots *roots, const char *name);
/*
 * Returns true if only root can make this path lead to another file. Root owns each directory above
 * it, and no other user may write there. None is a symbolic link.
 */
bool path_is_roots(const char *path);
/*
 * Writes a command that works on this machine: of this row, or of those that its `otherwise` leads
 * to. So REMEDY_START is how uasd is started here. Returns 0; -ENOENT if its program is missing, or
 * what the program asks; -EINVAL if its operand cannot be pasted. Then ret is "".
 */
int remedy_here(const struct roots *roots, enum remedy id, const char *operand, char *ret,
                size_t size);
