/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>
#include <systemd/sd-bus.h>

#include "common/util.h"
#include "core/facts.h"
#include "sys/io/clock.h"
#include "sys/io/roots.h"

/*
 * PID 1, over its private socket, which answers before D-Bus exists; where a systemd has no such socket, over the system bus.
 *
 * Functions with a `deadline` wait until then for all of it: connection, handshake and answer. They
 * return -ETIMEDOUT when it has passed. sd-bus alone would wait 90 s for the handshake.
 */

#define PID1_SYSTEMD "org.freedesktop.systemd1"
#define PID1_PATH "/org/freedesktop/systemd1"
#define PID1_MANAGER PID1_SYSTEMD ".Manager"

enum pid1_state {
        PID1_STARTING,
        PID1_RUNNING, /* running, degraded or maintenance: the boot is over */
        PID1_STOPPING,
};

/* Begins to connect, and waits for nothing. -ENOENT: systemd is not PID 1; any other error: it cannot be asked now. */
int pid1_open(const struct roots *r, sd_bus **ret);
/* For the event loop, at whose exit sd-bus would flush: that waits for PID 1 without a limit. */
int pid1_attach(sd_bus *pid1, sd_event *event);
/* A method of PID 1. ret (may be NULL): the answer. */
int pid1_call(sd_bus *pid1, struct awake deadline, sd_bus_message **ret, const char *path, const char *interface,
              const char *member, const char *types, ...);
/* A property of the type t. */
int pid1_get_usec(sd_bus *pid1, struct awake deadline, const char *path, const char *interface, const char *property,
                  usec_t *ret);
int pid1_state(sd_bus *pid1, struct awake deadline, enum pid1_state *ret);
/* Starts UNIT_RELEASE_TIMER for the interface, again if it runs: the dead man's timer of a hold. */
int pid1_arm_release(sd_bus *pid1, struct awake deadline, const char *interface);
/*
 * Has PID 1 load a module, by modprobe@.service, and waits until that is over. modprobe honours a blacklist there. Returns 0 when
 * the job is done, which does not say that the module is there; -ETIMEDOUT, or another errno.
 */
int pid1_load_module(const struct roots *r, const char *module, struct awake deadline);
/*
 * The same, and waits for nothing. ret: the connection, which is closed, and NULL, when PID 1 has answered; until then it is to
 * be closed by whoever goes before that.
 */
int pid1_load_module_later(const struct roots *r, sd_event *event, const char *module, sd_bus **ret);

/* The answer to Get of the property SystemState. */
int pid1_read_state(sd_bus_message *answer, enum pid1_state *ret);

/* The state, asked now and answered later: PID 1 thinks about it while the caller does something else. */
struct pid1_question {
        sd_bus_slot *slot;
        bool answered;
        int error;
        enum pid1_state state;
};

/* Waits for nothing. *q stays where it is until pid1_answer(), or until its slot is unreferenced. */
int pid1_ask(sd_bus *pid1, struct pid1_question *q);
int pid1_answer(sd_bus *pid1, struct awake deadline, struct pid1_question *q, enum pid1_state *ret);
