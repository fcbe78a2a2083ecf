/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "sys/io/clock.h"

/* One round of sd-bus: waits until there is something to do. Returns 0, -ETIMEDOUT at the deadline,
 * or another -errno. */
int bus_process(sd_bus *bus, struct awake deadline);
/* Waits until the handshake is done: sd_bus_call() would wait for the greeting of the other side
 * without our limit. The same errors. */
int bus_wait_ready(sd_bus *bus, struct awake deadline);
