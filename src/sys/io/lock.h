/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sys/io/clock.h"

/* Takes flock(LOCK_EX), and waits until `deadline`. Uses SIGALRM. Returns 0, -ETIMEDOUT, or another -errno. */
int lock_until(int fd, struct awake deadline);
