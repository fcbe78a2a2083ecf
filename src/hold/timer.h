/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "hold/dropin.h"
#include "sys/io/clock.h"
#include "sys/io/roots.h"

/*
 * Lets PID 1 start the dead man's timer of the interface. Returns 0 if the timer runs, -ESHUTDOWN if the machine is going down,
 * -ETIMEDOUT if PID 1 has not answered by `deadline`, or another -errno. -ETIME: the hold could outlast the time that a boot
 * waits for a device, or mdadm for the rest of an array.
 */
int timer_arm(const struct roots *roots, const char *interface, struct awake deadline, const struct hold_limits *l);
