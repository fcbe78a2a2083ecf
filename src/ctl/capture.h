/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Runs a program (absolute path, no shell, no standard input or error, a clean environment) and takes what it
 * prints. When the time is out it is killed and left to itself: what hangs in the kernel cannot be waited for.
 * Returns its exit status; -ETIMEDOUT, -E2BIG (it says more than anybody wants), -ECANCELED (it died of a
 * signal) or another -errno, *ret NULL then.
 */
int capture(const char *const argv[], uint64_t limit_usec, char **ret);
