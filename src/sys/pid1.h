/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>
#include <systemd/sd-bus.h>

#include "common/util.h"
#include "core/facts.h"
#include "sys/roots.h"

/* PID 1, over its private socket: it answers before D-Bus exists. */

enum pid1_state {
        PID1_STARTING,
        PID1_RUNNING,  /* running, degraded or maintenance: the boot is over */
        PID1_STOPPING,
};

/*
 * Returns -ENOENT where systemd is not PID 1. Does not wait: what is asked goes out as soon as PID 1 has taken the
 * connection. A call gives up after `timeout` usec.
 */
#define PID1_TIMEOUT (5 * USEC_PER_SEC) /* it answers at once or is in trouble of its own */
int pid1_open(uint64_t timeout, sd_bus **ret);
int pid1_state(sd_bus *pid1, enum pid1_state *ret);
/* Starts UNIT_RELEASE_TIMER for the interface, anew if it runs: the dead man's timer of a hold. */
int pid1_arm_release(sd_bus *pid1, const char *interface);
/*
 * Has PID 1 load a module, by modprobe@.service, and waits until that is over. modprobe honours a blacklist there. Returns 0 when the
 * job is done, which does not say that the module is there; -ETIMEDOUT, or another errno.
 */
int pid1_load_module(const char *module, uint64_t usec);
/*
 * The same, and waits for nothing. ret: the connection, which is closed, and NULL, when PID 1 has answered; until then it is to be closed
 * by whoever goes before that.
 */
int pid1_load_module_later(sd_event *event, const char *module, sd_bus **ret);

/* The state, asked now and answered later: PID 1 thinks about it while we do something else. */
struct pid1_question {
        sd_bus_slot *slot;
        bool answered;
        int error;
        enum pid1_state state;
};

int pid1_ask(sd_bus *pid1, struct pid1_question *q);
int pid1_answer(sd_bus *pid1, struct pid1_question *q, enum pid1_state *ret);
