/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "common/util.h"
#include "core/disk.h"

/*
 * A disk's life: events in, actions out, nothing else. The machine is level-triggered: an event changes what is
 * known, then one function derives the state from all of it, and the actions from the state. So an event
 * lost or seen twice does no harm. Times are CLOCK_BOOTTIME in usec, handed in.
 */

#define USEC_INFINITY UINT64_MAX

enum event_type {
        EVENT_SCANNED,      /* facts, LUNs, marks were read again (into the life itself) */
        EVENT_USERS,        /* somebody looked: users present or not */
        EVENT_HOLD,         /* the udev helper holds it, until `deadline` */
        EVENT_RELEASED,     /* its hold has ended */
        EVENT_REQUEST,      /* uasctl switch: `target`; DRIVER_NONE takes the override back */
        EVENT_AGAIN,        /* policy or history were set: what failed or was cancelled before may be tried again */
        EVENT_CANCEL,       /* what waits is not to be; `target`: the override that is in force without it */
        EVENT_TROUBLE,      /* it failed under uas: what was cancelled or failed before is another matter */
        EVENT_INHIBITED,    /* `on`: nothing begins until somebody's work is done; else it may again */
        EVENT_LEASED,       /* somebody has it for himself: nothing begins but what he asks for */
        EVENT_LEASE_SWITCH, /* he asks for `target` */
        EVENT_LEASE_ENDED,  /* back to `target`, which it had before; then as ever */
        EVENT_TIMER,        /* the time asked for has come */
        EVENT_STARTED,      /* uasd-switch runs (ours, or one found running) */
        EVENT_DONE,         /* uasd-switch ended: `outcome` */
        EVENT_ENVIRONMENT,  /* booted, stopping, sleeping */
        _EVENT_MAX,
};

struct event {
        enum event_type type;
        usec_t deadline;
        bool in_use;
        bool by_name; /* of EVENT_USERS: every process was asked */
        bool told;    /* of EVENT_USERS: the end of each use will be an event */
        bool on;      /* of EVENT_INHIBITED */
        enum driver target;
        bool force;
        struct outcome outcome;
        /* Of EVENT_DONE: */
        bool killed;    /* a signal ended it */
        bool foreign;   /* another process started it, and got the outcome: where the disk is has to do */
        bool replugged; /* ... and it began with an earlier attachment at this port */
};

struct environment {
        bool booted;   /* PID 1 has finished starting: unheld disks may be claimed */
        bool stopping; /* shutdown or kexec is under way, or uasd ends: nothing begins */
        bool sleeping; /* the machine is going to sleep: nothing begins until it is awake again */
        usec_t quiet_usec;
        usec_t trial_usec;
        usec_t asleep_usec; /* so much of the time since boot the machine has slept */
};

/* Under a hold, what a switch and its undo need at least; with less left it is released at once. */
#define HOLD_LEAST_USEC 5000000ULL
#define RETRY_MOST_USEC 30000000ULL
#define RELEASE_PAUSE_USEC 10000000ULL
/* A trial that is over, and cannot be put on record: asked again after this at least. */
#define TRIAL_AGAIN_USEC 60000000ULL
/* Time asleep is no time under watch. Less of it is what lies between two readings of two clocks. */
#define ASLEEP_LEAST_USEC 1000000ULL
/* A disk that fails under uas and did not get away from it: so many more tries, each after twice the pause. */
#define FLIGHTS_MOST 4
#define FLIGHT_PAUSE_USEC 15000000ULL
/* One that is left without a driver: tried for as long as it is there, each time after four times the pause, at most 17 minutes.
 */
#define STRANDED_PAUSE_USEC 1000000ULL

/* What the machine keeps of one disk beyond struct disk. All times are CLOCK_BOOTTIME in usec. */
struct life {
        struct disk disk;

        struct {
                bool active;
                usec_t deadline;
        } hold;
        struct {
                bool busy;         /* as last seen */
                bool looked;       /* it has been seen at all */
                bool hidden;       /* a quick look does not see the users: looks go by name */
                bool named;        /* and a look by name has seen them */
                bool waited;       /* was seen in use: the quiet time counts also for a request */
                usec_t free_since; /* 0: in use, or not known */
                usec_t retry_at;   /* no event may tell of the end of its use: looked at again then; 0: never */
                unsigned retries;
        } use;
        struct {
                bool running;         /* a uasd-switch is at work on it */
                enum driver from, to; /* of the uasd-switch, if it is a child of this uasd */
                bool asked_meanwhile; /* a request came while it ran */
                bool tried;           /* one automatic attempt was made on this attachment */
                bool requested;       /* a user asked: may try again, and need not be quiet first */
                unsigned flights;     /* tries to get off uas that went wrong, since it failed there */
                usec_t not_before;    /* the next of them */
        } attempt;
        struct {
                bool active;    /* a program has it for itself, or had it and it is not back yet */
                bool over;      /* the latter */
                enum driver to; /* where the lease wants it; DRIVER_NONE: where it is */
                bool forced;
                bool failed_before; /* what was tried before the lease went wrong: that is so after it as well */
        } lease;
        struct {
                usec_t until;  /* 0: not on trial */
                usec_t asleep; /* what was slept before, and what that was put off by */
        } trial;
        bool cancelled; /* a user said no to what waited; kept in the attachment's mark */
        bool inhibited; /* no work may be disturbed: nothing begins */
        bool watched;   /* ACTION_WATCH is in force */
        usec_t timer;   /* asked for last; USEC_INFINITY: none */
};

enum action_type {
        ACTION_SWITCH,  /* start uasd-switch to `target`; `deadline` of its hold, or 0 */
        ACTION_RELEASE, /* end the hold */
        ACTION_WATCH,   /* tell of changes in use, from now on */
        ACTION_UNWATCH,
        ACTION_LOOK,   /* see who uses it, tell by EVENT_USERS; `by_name`: ask every process */
        ACTION_TIMER,  /* EVENT_TIMER at `deadline`; replaces the one before; USEC_INFINITY: none */
        ACTION_PASSED, /* its trial is over, without trouble as far as is known here */
        ACTION_REPORT, /* the state is a new one: journal, D-Bus */
        _ACTION_MAX,
};

struct action {
        enum action_type type;
        enum driver target;
        bool automatic; /* nobody asked */
        bool by_name;
        bool plugged; /* nobody has seen it on this attachment: it mounts as usual afterwards */
        usec_t deadline;
};

/* SWITCH, LOOK or PASSED come last: carrying them out may bring the next event. */
#define ACTIONS_MAX 8
struct actions {
        struct action list[ACTIONS_MAX];
        size_t n;
};

void life_init(struct life *l);
void machine_step(struct life *l, const struct environment *env, const struct event *e, usec_t now, struct actions *ret);
