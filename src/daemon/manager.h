/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "common/util.h"
#include "core/config.h"
#include "core/drops.h"
#include "core/history.h"
#include "core/machine.h"
#include "core/trouble.h"
#include "sys/io/roots.h"

/*
 * A source, a child that ends and a method of the bus post into one queue (daemon/queue.h), and manager.c carries out what is
 * posted. Only there are disks read, machines stepped and entries freed. A feature has its own header and changes only its own
 * fields below.
 */

struct manager;

/* What a user asked for, as org.uasd1.Job has it. */
struct disk_request {
        unsigned number;        /* for the bus; 0: none is under way */
        bool pending;           /* the machine has still to be told, */
        struct event event;     /* ... and of this */
        enum driver from, to;   /* to: DRIVER_NONE: the driver that its policy wants */
        char step[24];          /* the switch is at, or ended in */
        int code;               /* an exit status; -1: not ended */
        const char *told;       /* the last state that was reported */
        enum driver overridden; /* the override before the request */
        bool overridden_forced;
};

/* One disk. */
struct entry {
        struct manager *manager;
        struct life life;
        bool announced;         /* on the bus */
        sd_event_source *timer; /* of the machine */
        struct {
                usec_t since; /* CLOCK_BOOTTIME in usec; 0: it has a driver */
                sd_event_source *timer;
        } unbound;
        struct disk_request request;
        struct job *job;          /* work/job.c: the uasd-switch at work, if it is a child of this process */
        struct use_probe *probe;  /* work/use-probe.c: under way */
        struct disk_lease *lease; /* feature/lease.c; NULL: there is none */
        struct {
                sd_event_source *timer;
                bool gone; /* it began with an earlier attachment at this port */
        } foreign;         /* feature/switches.c: a uasd-switch at work that is no child of this process */
        struct {
                int *list; /* inotify watch descriptors */
                size_t n;
                bool all; /* each node is watched: the close of any is an event */
        } watches;        /* source/uses.c */
        struct {
                struct trouble account; /* of this attachment */
                bool acted;             /* and what that came to has been acted upon */
                struct history unkept;  /* could not be put on record */
                bool has_unkept;
        } trouble;       /* feature/trouble.c */
        usec_t users_at; /* feature/users-cache.c: CLOCK_BOOTTIME in usec of the last search by name */
};

struct manager {
        int lock; /* held as long as uasd runs: one uasd a machine */
        sd_event *event;
        const char *root; /* NULL: this machine */
        struct roots roots;
        struct config config;
        struct environment env;
        struct entry **entries;
        size_t n_entries;
        unsigned last_request;
        bool looked; /* at all that is plugged in: what is wanted of it is known */
        struct queue *queue;
        struct bus *bus;
        struct question *questions; /* bus/polkit.c */
        struct uevent_source *uevents;
        struct use_watch *uses;
        struct kmsg_watch *kmsg;
        struct boot *boot; /* NULL: it is over */
        struct sleep *sleep;
        struct record_task *records; /* work/records.c: not written yet, the oldest first */
        struct worker *recorder;     /* writes the first of them */
        struct naming *namings;      /* work/strings.c: devices whose strings are being read */
        struct users_walk *walk;     /* feature/users-cache.c: under way */
        bool walks_long;             /* the last one took long */
        struct inhibitor *inhibitors;
        struct keepoff_state *keepoff;
        struct drops drops; /* feature/trouble.c: the ports where disks come and go by themselves */
};

/* root: the folder the machine is in; NULL: this machine. */
int manager_new(const char *root, struct manager **ret);
/* Takes stock of what is plugged in and what an earlier uasd left, and listens from then on. */
int manager_start(struct manager *m);
/* Begins nothing more; uasd-switch finishes what runs. */
void manager_stop(struct manager *m);
void manager_free(struct manager *m);
