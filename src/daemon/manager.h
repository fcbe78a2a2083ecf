/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/config.h"
#include "core/keepoff.h"
#include "core/trouble.h"
#include "daemon/bus/announce.h"
#include "daemon/queue.h"
#include "daemon/source/sources.h"
#include "sys/io/roots.h"
#include "sys/state/attachment.h"

/*
 * A source, a child that ends and a method of the bus post into one queue (daemon/queue.h), and
 * manager.c performs the posts. Only there are disks read, machines stepped and entries freed. A
 * part has its own header and changes only its own fields below.
 */

/* A request of a user, as in org.uasd1.Job. */
struct disk_request {
        unsigned number; /* for the bus; 0: there is no request */
        bool pending;    /* not passed to the machine yet */
        bool of_lease;   /* of the holder of the lease */
        bool force;
        enum driver from, to;       /* to: DRIVER_NONE: the driver of its policy */
        char step[24];              /* present or last step of the switch */
        int code;                   /* an exit status; -1: not ended */
        const char *reported_state; /* the last state that was reported */
        enum driver overridden;     /* the override before the request */
        bool overridden_forced;
};

/* One disk. */
struct entry {
        TAILQ_ENTRY(entry) link;
        struct manager *manager;
        struct life life;
        bool announced;     /* on the bus */
        bool trim_reported; /* feature/requests.c: the setting for another medium is in the journal
                             */
        bool module_looked; /* rescan.c: for uas, before the disk had a driver */
        uint8_t n_trims;    /* TRIM_LUNS_MAX at most */
        enum uas_module module_seen; /* what was found then; UAS_MODULE_UNKNOWN: nothing, or it has
                                        been used */
        struct trim_lun *trims;      /* feature/requests.c: the LUNs that offered TRIM under uas */
        sd_event_source *timer;      /* of the machine */
        sd_event_source *unbound;    /* without a driver: the end of the time to get one */
        struct disk_request request;
        struct switch_run *run; /* feature/switches.c: the uasd-switch at work, if it is a child of
                            this process */
        struct disk_lease *lease; /* feature/lease.c; NULL: not leased */
        struct {
                struct later again; /* the next check */
                bool gone;          /* it was for an earlier attachment at this port */
        } foreign;                  /* feature/switches.c: a foreign switch */
        struct {
                int *list; /* inotify watch descriptors */
                size_t n;
                bool all;     /* all nodes are watched: each close is an event */
                bool counted; /* it is one of the use_watch.n disks that wait */
        } watches;            /* source/uses.c */
        struct {
                struct trouble account; /* of this attachment and driver */
                bool acted;             /* its result has been acted upon */
                bool failed; /* it has failed on this attachment: that explains why it goes */
                struct history *unkept; /* history that could not be written; else NULL */
        } trouble;                      /* feature/trouble.c */
        struct {
                struct child *worker; /* NULL: it has answered, or there is none */
                struct later pause;   /* until the next one may begin */
                int ends;             /* the inotify of the present one, or -errno */
                bool again;           /* an event came meanwhile */
        } probe;                      /* feature/users.c: the search by name */
        struct {
                struct child *worker; /* the hook at work */
                char hook[32];        /* it has unmounted the disk; empty: none has */
                struct later limit;
                bool tried, late;
        } take; /* feature/take-mounts.c */
        struct {
                unsigned late; /* bits of enum attachment_field; 0: all are written */
                struct attachment_mark to;
        } marks;         /* work/marks.c */
        unsigned told;   /* feature/event-hooks.c: bits of enum hook_event */
        usec_t users_at; /* feature/users.c: CLOCK_BOOTTIME in usec of the last search by name; 0:
                            it is out of date */
};

/*
 * Entries in the quirks parameter for disks that belong on usb-storage, so that they never start on
 * uas. If a bind is under way, or usb_storage must be loaded first, uasd tries again later.
 */
struct keepoff_state {
        bool due;               /* the wanted entries may have changed */
        struct kept_disks kept; /* what configuration, policies, records and `seen` say */
        unsigned version;       /* of these files; 0: they must be read again */
        struct kept_disks seen; /* policies of all disks that were here since uasd began: they may
                                   come back */
        struct later again;     /* the next try after a failure */
        usec_t pause;           /* usec until that try; 0: the last one succeeded */
        sd_bus *pid1;           /* connection on which PID 1 is asked for usb_storage */
        char left_out[512];     /* the last report of disks for which the quirks have no room */
};

/* BootEntry=auto. */
struct boot_entry {
        unsigned version;            /* of the records for which the unit was started; 0: none */
        sd_bus *pid1;                /* connection on which PID 1 is asked for it */
        sd_event_source *watches[2]; /* of the folders of the file */
        struct later again;
};

/* The hooks for events. */
struct event_hooks {
        struct child *worker; /* it starts them */
        bool again;           /* there is a new event */
        struct later later;   /* the next try */
        usec_t pause;         /* until that */
};

struct manager {
        int lock; /* held as long as uasd runs: one uasd for each machine */
        sd_event *event;
        const char *root; /* NULL: this machine */
        struct roots roots;
        struct config config;
        struct environment env;
        TAILQ_HEAD(entry_list, entry) entries;
        size_t n_entries;
        unsigned last_request;
        bool ended;  /* manager_end() was called */
        bool looked; /* all disks have been read, so their policies are known */
        struct queue queue;
        struct bus bus;
        struct uevent_source uevents;
        struct boot boot;
        LIST_HEAD(question_list, question) questions; /* bus/polkit.c */
        struct use_watch uses;
        struct kmsg_watch kmsg;
        struct sleep sleep;
        struct record_task *records; /* work/records.c: unwritten records, the oldest first */
        struct child *recorder;      /* writes the first record */
        struct later record_again;   /* no child could be started for that */
        LIST_HEAD(eject_list, eject) ejects; /* feature/switches.c: those that run */
        struct naming *namings;  /* work/strings.c: devices whose strings are being read */
        struct users_walk *walk; /* feature/users.c: the present walk */
        bool walks_long;         /* the last walk took long */
        TAILQ_HEAD(inhibitor_list, inhibitor) inhibitors; /* feature/inhibit.c: the oldest first */
        struct keepoff_state keepoff;                     /* feature/keepoff.c */
        struct boot_entry boot_entry;                     /* feature/boot-entry.c */
        struct event_hooks event_hooks;                   /* feature/event-hooks.c */
        struct drops drops; /* feature/trouble.c: ports where disks come and go by themselves */
};

/* root: the folder with the machine's trees, or NULL for this machine. */
int manager_new(const char *root, struct manager **ret);
/* Reads what is plugged in and what an earlier uasd left, and listens from then on. */
int manager_start(struct manager *m);
/* Begins no more switches, and writes what is not written yet. The end of the process frees
 * everything else. */
void manager_end(struct manager *m);
