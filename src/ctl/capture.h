/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

/*
 * Runs a program (absolute path, no shell, no standard input or error, a clean environment) and
 * captures its output. At the time limit the program is killed. Nothing waits for it, because it
 * may hang in the kernel. Returns its exit status; -ETIMEDOUT, -E2BIG (too much output), -ECANCELED
 * (it died of a signal) or another -errno. Then *ret is NULL.
 */
int capture(const char *const argv[], uint64_t limit_usec, char **ret);
