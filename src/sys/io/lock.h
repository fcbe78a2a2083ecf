/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sys/io/clock.h"

/* flock(LOCK_EX), waited for until `deadline`. Uses SIGALRM. 0, -ETIMEDOUT, or another -errno. */
int lock_until(int fd, struct awake deadline);
