/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "common/util.h"
#include "daemon/loop.h"
#include "sys/udev/uevents.h"

struct entry;
struct manager;
struct sign;

/* Sources do not know each other, and only post. */

/* uevents.c: events of the kernel and of udev, and marks that other programs write in /run/uasd */
struct uevent_source {
        struct manager *manager;
        struct udev_monitor *monitors[UEVENTS_PROCESSED + 1];
};
int uevents_start(struct manager *m);

/* boot.c: posts POST_BOOTED when the boot is over */
struct boot {
        struct manager *manager;
        sd_bus *pid1;
        struct later again;
        usec_t pause; /* usec until the next question */
};
void boot_await(struct manager *m);

/* sleep.c: whether logind is sending the machine to sleep. Called when the connection to the system
 * bus is new. */
struct sleep {
        struct manager *manager;
        sd_bus_slot *asking;     /* the call for an inhibitor */
        int fd;                  /* of the inhibitor; -1: none */
        sd_event_source *settle; /* while the machine is about to sleep and a switch is under way */
};
int sleep_watch(struct manager *m);

/* kmsg.c */
typedef bool (*kmsg_sign_fn)(struct manager *m, const struct sign *s, usec_t usec, bool live);
struct kmsg_watch {
        kmsg_sign_fn take;
        int fd; /* -1: not started, or the log cannot be read */
        sd_event_source *source;
        bool armed;
        bool often; /* a disk is on uas: records are read at once */
        unsigned wakeups;
        usec_t since;       /* of the wakeups */
        struct later pause; /* there were too many of them */
        uint64_t next;      /* the number behind that of the last record; 0: no record yet */
};
/* Reads the kernel's log while a disk is on uas or usb-storage. The function returns true if an
 * account has changed. */
void kmsg_start(struct manager *m, kmsg_sign_fn take);
void kmsg_arm(struct manager *m); /* called when a disk came, went, or changed its driver */
void kmsg_keep(
        struct manager *m); /* called when the accounts have changed, and at the end of uasd */
void kmsg_drain(struct manager *m); /* counts all present records before anything changes */

/* uses.c */
struct use_watch {
        struct manager *manager;
        int inotify, ends;
        sd_event_source *tables[2]; /* mount table and swaps; NULL: the kernel has no swap */
        sd_event_source *inotify_source, *ends_source, *again;
        size_t n;       /* number of disks that are watched */
        uint64_t count; /* reference counts at the last check of the disks */
        unsigned repeats;
        usec_t began; /* of the last check, CLOCK_MONOTONIC in usec */
        usec_t next;  /* earliest time of the next one */
};
/* Notices the ends of uses of the disks that wait, without polling. */
int use_watch_start(struct manager *m);
void use_watch_add(struct entry *e);
void use_watch_remove(struct entry *e);
/* Called when the nodes of the disk have changed. */
void use_watch_nodes(struct entry *e);
/* Called when a use may have ended. */
void use_watch_changed(struct use_watch *w);
/* Called when the event of an end may have been lost. */
void use_watch_lost(struct use_watch *w);
/* Returns true in a pause: a change of a use may not be known yet. */
bool use_watch_pauses(const struct use_watch *w);
/* Returns the inotify for users_told(), which listens while a disk waits; -errno. */
int use_watch_ends(struct use_watch *w);
