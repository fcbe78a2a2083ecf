/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

/* flock(LOCK_EX), waited for until `deadline` (CLOCK_BOOTTIME). Uses SIGALRM. 0, -ETIMEDOUT, or another -errno. */
int lock_until(int fd, uint64_t deadline);
