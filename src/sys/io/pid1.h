/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "common/util.h"
#include "core/facts.h"
#include "sys/io/ask-pid1.h"
#include "sys/io/clock.h"
#include "sys/io/roots.h"

/*
 * PID 1, over its private socket, which answers before D-Bus exists. If systemd has no such socket,
 * over the system bus. The question that a switch waits for takes the bus first.
 *
 * Functions with a `deadline` wait until then for all of it: connection, handshake and answer. Then
 * they return -ETIMEDOUT. Without that, sd-bus would wait 90 s for the handshake.
 */

#define PID1_SYSTEMD "org.freedesktop.systemd1"
#define PID1_PATH "/org/freedesktop/systemd1"
#define PID1_MANAGER PID1_SYSTEMD ".Manager"

/* Returns true if PID 1 has a private socket. */
bool pid1_has_socket(const struct roots *roots);
/* Begins to connect, without waiting. -ENOENT: systemd is not PID 1. Other errors: it cannot be
 * asked now. */
int pid1_open(const struct roots *roots, sd_bus **ret);
/*
 * The same over the system bus, which costs PID 1 less. For each private connection it registers
 * its whole API, ten million instructions. At the system bus it has done that once.
 */
int pid1_open_bus(const struct roots *roots, sd_bus **ret);
/* Adds the connection to the event loop, without the flush at its exit, which would wait for PID 1
 * without a limit. */
int pid1_attach(sd_bus *pid1, sd_event *event);
/* Calls a method of PID 1. ret (may be NULL): the answer. */
int pid1_call(sd_bus *pid1, struct awake deadline, sd_bus_message **ret, const char *path,
              const char *interface, const char *member, const char *types, ...);
/* Reads a property of the type t. */
int pid1_get_usec(sd_bus *pid1, struct awake deadline, const char *path, const char *interface,
                  const char *property, usec_t *ret);
int pid1_state(sd_bus *pid1, struct awake deadline, enum pid1_state *ret);
/* Starts UNIT_RELEASE_TIMER for the interface, again if it runs: the dead man's timer of a hold. */
int pid1_arm_release(sd_bus *pid1, struct awake deadline, const char *interface);
/*
 * Lets PID 1 start a unit, and waits for the end of the job. Returns 0 if the job is done; the unit
 * may have failed. Or -ETIMEDOUT, or another -errno.
 */
int pid1_start(const struct roots *roots, const char *unit, struct awake deadline);
/*
 * The same, without waiting. ret: the connection. When PID 1 has answered, it is closed and becomes
 * NULL. A caller that ends before that has to close it.
 */
int pid1_start_later(const struct roots *roots, sd_event *event, const char *unit, sd_bus **ret);

/* Reads the answer to Get of the property SystemState. */
int pid1_read_state(sd_bus_message *answer, enum pid1_state *ret);
