/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/disk.h"

/*
 * A disk's life: events in, actions out, nothing else. The machine is level-triggered: an event changes what is
 * known, then one function derives the state from all of it, and the actions from the state. So an event
 * lost or seen twice does no harm. Times are CLOCK_BOOTTIME in usec, handed in.
 */

#define USEC_INFINITY UINT64_MAX

enum event_type {
        EVENT_SCANNED,     /* facts, LUNs, marks were read again (into the life itself) */
        EVENT_USERS,       /* somebody looked: users present or not */
        EVENT_HOLD,        /* the udev helper holds it, until `deadline` */
        EVENT_RELEASED,    /* its hold has ended */
        EVENT_REQUEST,     /* uasctl switch: `target`; DRIVER_NONE takes the override back */
        EVENT_CANCEL,
        EVENT_TIMER,       /* the time asked for has come */
        EVENT_STARTED,     /* uasd-switch runs (ours, or one found running) */
        EVENT_DONE,        /* uasd-switch ended: `outcome` */
        EVENT_ENVIRONMENT, /* booted, stopping */
        _EVENT_MAX,
};

struct event {
        enum event_type type;
        uint64_t deadline;
        bool in_use;
        enum driver target;
        bool force;
        struct outcome outcome;
};

struct environment {
        bool booted;   /* PID 1 has finished starting: unheld disks may be claimed */
        bool stopping; /* shutdown, kexec or sleep is under way: nothing begins */
        uint64_t quiet_usec;
};

/* What the machine keeps of one disk beyond struct disk. */
struct life {
        struct disk disk;

        bool held;
        uint64_t hold_deadline;
        bool in_use;        /* as last seen */
        bool looked;        /* somebody has looked since the last change */
        uint64_t free_since;
        bool running;       /* a uasd-switch is at work on it */
        bool tried;         /* one automatic attempt was made on this attachment */
        bool released;      /* its hold was ended on this attachment */
        bool requested;     /* the override came from a user: may try again */
        uint64_t retry_at;  /* not before this */
        unsigned retries;
};

enum action_type {
        ACTION_SWITCH,  /* start uasd-switch to `target`; `deadline` if it runs under a hold */
        ACTION_RELEASE, /* end the hold */
        ACTION_WATCH,   /* tell of changes in use, from now on */
        ACTION_UNWATCH,
        ACTION_LOOK,    /* see who uses it, tell by EVENT_USERS */
        ACTION_TIMER,   /* EVENT_TIMER at `deadline`; replaces the one before; USEC_INFINITY: none */
        ACTION_REPORT,  /* the state is a new one: journal, D-Bus */
        _ACTION_MAX,
};

struct action {
        enum action_type type;
        enum driver target;
        bool force;
        uint64_t deadline;
};

#define ACTIONS_MAX 8
struct actions {
        struct action list[ACTIONS_MAX];
        size_t n;
};

void life_init(struct life *l);
void machine_step(struct life *l, const struct environment *env, const struct event *e, uint64_t now,
                  struct actions *ret);
