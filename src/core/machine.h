/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "common/util.h"
#include "core/disk.h"

/*
 * The life of a disk: events in, actions out. The machine is level-triggered: an event changes the
 * known facts. Then one function derives the state from all facts, and the actions from the state.
 * So an event that is lost or repeated does no harm. Times are CLOCK_BOOTTIME in usec, passed by
 * the caller.
 */

#define USEC_INFINITY UINT64_MAX

enum event_type {
        EVENT_SCANNED,  /* facts, LUNs and marks were read again (stored in the life) */
        EVENT_USERS,    /* result of a search: users or none */
        EVENT_HOLD,     /* the udev helper holds it, until `deadline` */
        EVENT_RELEASED, /* its hold has ended */
        EVENT_REQUEST,  /* uasctl switch: `target`; DRIVER_NONE removes the override */
        EVENT_AGAIN,  /* policy or history were set: a failed or cancelled switch may be tried again
                       */
        EVENT_CANCEL, /* cancels a waiting switch; `target`: the remaining override */
        EVENT_TROUBLE, /* it failed under uas: cancelled or failed switches do not count any more */
        EVENT_INHIBITED,    /* `on`: an inhibitor exists, no switch begins; else none is left */
        EVENT_LEASED,       /* a program has the lease: only its requests begin a switch */
        EVENT_LEASE_SWITCH, /* the holder requests `target` */
        EVENT_LEASE_ENDED,  /* back to the former driver `target`; then as usual */
        EVENT_TIMER,        /* the time of ACTION_TIMER has come */
        EVENT_DONE,         /* uasd-switch ended: `outcome` */
        EVENT_ENVIRONMENT,  /* booted, stopping, sleeping */
        _EVENT_MAX,
};

struct event {
        enum event_type type;
        usec_t deadline;
        bool in_use;
        bool by_name; /* of EVENT_USERS: all processes were searched */
        bool told;    /* of EVENT_USERS: an event will report the end of each use */
        bool on;      /* of EVENT_INHIBITED */
        enum driver target;
        bool force;
        struct outcome outcome;
        /* Of EVENT_DONE: */
        bool killed;    /* a signal ended it */
        bool foreign;   /* another process started it and knows its outcome: only the present driver
                           shows it here */
        bool replugged; /* foreign: it was for an earlier attachment at this port */
};

struct environment {
        bool booted;   /* PID 1 has finished starting: disks without a hold may be claimed */
        bool stopping; /* shutdown or kexec is under way, or uasd ends: no switch begins */
        bool sleeping; /* the machine is going to sleep: no switch begins until it is awake again */
        usec_t quiet_usec;
        usec_t trial_usec;
        usec_t asleep_usec; /* time since boot that the machine has slept */
};

/* Least time for a switch and its undo during a hold; with less the hold is released at once. */
#define HOLD_LEAST_USEC 5000000ULL
#define RETRY_MOST_USEC 30000000ULL
#define RELEASE_PAUSE_USEC 10000000ULL
/* Least time until the next attempt to record the end of a trial. */
#define TRIAL_AGAIN_USEC 60000000ULL
/* The time asleep does not count for a trial. A smaller amount is only the gap between the readings
 * of two clocks. */
#define ASLEEP_LEAST_USEC 1000000ULL
/* Further attempts for a disk that failed under uas and is still there. The pause doubles each
 * time. */
#define FLIGHTS_MOST 4
#define FLIGHT_PAUSE_USEC 15000000ULL
/* For a disk without a driver: attempts as long as it is there. The pause grows four times each
 * time, to at most 17 minutes. */
#define STRANDED_PAUSE_USEC 1000000ULL

/* The state of one disk beyond struct disk. All times are CLOCK_BOOTTIME in usec. */
struct life {
        struct disk disk;

        struct {
                bool active;
                usec_t deadline;
        } hold;
        struct {
                bool busy;         /* result of the last search */
                bool looked;       /* a search has begun */
                bool hidden;       /* a quick search does not see the users: search by name */
                bool named;        /* a search by name has seen them */
                bool waited;       /* was in use: the quiet time applies also to a request */
                usec_t free_since; /* 0: in use, or unknown */
                usec_t retry_at; /* time of a search in case no event reports the end of the use; 0:
                                    never */
                unsigned retries;
        } use;
        struct {
                bool running;         /* a uasd-switch is at work on it */
                enum driver from, to; /* of the uasd-switch, if it is a child of this uasd */
                bool overtaken;       /* a request came while it ran, for another driver */
                bool tried;           /* an automatic attempt was made on this attachment */
                enum driver last;  /* target of the last attempt on it, by any process; DRIVER_NONE:
                                      unknown */
                bool requested;    /* requested by a user: further attempts are allowed, without the
                                      quiet time */
                unsigned flights;  /* failed attempts to leave uas since it failed there */
                usec_t not_before; /* time of the next one */
        } attempt;
        struct {
                bool active; /* a program has the lease, or had it and the disk is not back yet */
                bool over;   /* the lease has ended */
                enum driver to; /* target of the holder; DRIVER_NONE: stay */
                bool forced;
                bool failed_before; /* the attempt before the lease failed, which counts again after
                                       it */
        } lease;
        struct {
                usec_t until;  /* 0: not on trial */
                usec_t asleep; /* time asleep that `until` already contains */
        } trial;
        usec_t waiting_since; /* 0: not waiting */
        bool cancelled; /* a user cancelled the waiting switch; kept in the attachment's mark */
        bool inhibited; /* an inhibitor exists: no switch begins */
        bool watched;   /* ACTION_WATCH is in force */
        usec_t timer;   /* time of the last ACTION_TIMER; USEC_INFINITY: none */
};

enum action_type {
        ACTION_SWITCH,  /* start uasd-switch to `target`; `deadline` of its hold, or 0 */
        ACTION_RELEASE, /* end the hold */
        ACTION_WATCH,   /* report changes in use from now on */
        ACTION_UNWATCH,
        ACTION_LOOK, /* search for users, report by EVENT_USERS; use.hidden: search all processes */
        ACTION_TIMER, /* EVENT_TIMER at `deadline`, instead of the previous one; USEC_INFINITY: none
                       */
        ACTION_PASSED, /* its trial has ended, without trouble as far as known here */
        ACTION_REPORT, /* the state is new: journal, D-Bus */
        _ACTION_MAX,
};

struct action {
        enum action_type type;
        enum driver target;
        bool automatic; /* not a user's request */
        bool plugged; /* no program has seen it on this attachment: it mounts as usual afterwards */
        usec_t deadline;
};

/* SWITCH, LOOK or PASSED come last: they may post the next event. uasd starts a SWITCH before all
 * others (actions.c). */
#define ACTIONS_MAX 8
struct actions {
        struct action list[ACTIONS_MAX];
        size_t n;
};

void life_init(struct life *l);
void machine_step(struct life *l, const struct environment *env, const struct event *e, usec_t now,
                  struct actions *ret);

/* The present work on a disk, in addition to its decision. */
struct standing {
        bool switching; /* a uasd-switch is at work on it */
        bool held;      /* the udev helper holds it */
        bool wanted;    /* uasd wants to switch it; false without a uasd */
        bool used_up;   /* uasd wants that, but has no attempt left */
};

/* Returns the state. Used by uasd, and by uasctl without uasd. */
enum state state_derive(const struct disk *d, const struct standing *s);
