/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "hold/dropin.h"

/*
 * Has PID 1 start the dead man's timer of the interface, over its private socket, which is there before D-Bus.
 * Returns 0 if the timer runs; -ESHUTDOWN if the machine is going down; -ETIME if the hold could outlast the time that a boot
 * waits for a device, or mdadm for the rest of an array; other -errno. PID 1 may take `timeout` usec for an answer.
 */
int timer_arm(const char *interface, uint64_t timeout, const struct hold_limits *l);
