/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

#include "sys/io/clock.h"
#include "sys/io/roots.h"

/*
 * Questions to PID 1 by a child, the program uasd-pid1. It links libsystemd. To load that takes
 * longer than all that uasd-switch does before it has a disk.
 */

enum pid1_state {
        PID1_STARTING,
        PID1_RUNNING, /* running, degraded or maintenance: the boot is over */
        PID1_STOPPING,
};

/* Returns 0, or -ENOENT if systemd is not PID 1. */
int pid1_there(const struct roots *roots);

/* The arguments of uasd-pid1 */
#define PID1_ASK_STATE "state"     /* the answer: enum pid1_state */
#define PID1_ASK_RELEASE "release" /* and an interface: pid1_arm_release() */
#define PID1_ASK_START "start"     /* and a unit: pid1_start() */
/* and an interface: "release", if a hold can begin now (hold/ask-pid1.c) */
#define PID1_ASK_HOLD "hold"

struct pid1_question {
        pid_t pid; /* 0: none is open */
        int answer;
};

/* Begins to ask, without waiting. what: NULL, or the second argument. Returns 0 or -errno, never
 * -ENOENT. */
int pid1_ask(const char *verb, const char *what, struct pid1_question *ret);
/*
 * Waits for the answer, and ends the child. Returns the answer, -ENOENT if systemd is not PID 1,
 * -ETIMEDOUT, or another -errno if the child or PID 1 has failed.
 */
int pid1_answer(struct pid1_question *q, struct awake deadline);
/* Ends the child if there is one. */
void pid1_forget(struct pid1_question *q);
/* Asks, and waits for the answer. */
int pid1_ask_and_wait(const char *verb, const char *what, struct awake deadline);
