/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "client/view.h"
#include "common/util.h"

/* The daemon, over the system bus or, for root before there is one, peer to peer. */
struct remote {
        sd_bus *bus;
        bool peer;
};

/*
 * Limits for connection and answer together. A program that only reads must not wait long for a
 * stopped daemon, because sysfs has the disks, too. An order or a wait needs the daemon, which may
 * be slow during boot or with many switches.
 */
#define GLANCE_USEC (5 * USEC_PER_SEC)
#define ORDER_USEC (30 * USEC_PER_SEC)

/* The purpose of a connection. */
enum remote_use {
        REMOTE_LOOK,       /* one reading of the disks: the private socket first, which is faster */
        REMOTE_LOOK_BRIEF, /* the same with only what ListDisks returns, if uasd knows it */
        REMOTE_ORDER,      /* orders: the system bus first, where polkit can identify the user */
};
/*
 * host: NULL for this machine; otherwise over ssh, which may ask for a password and prints errors
 * to stderr. private_socket: NULL: only the system bus. Returns 0. -ENOTCONN: no daemon.
 * -ETIMEDOUT: no answer. -EBADMSG: not understood. -EHOSTUNREACH: the host has no bus.
 */
int remote_open(const char *host, const char *private_socket, enum remote_use use,
                uint64_t limit_usec, struct remote *ret, struct views *ret_disks);
void remote_close(struct remote *remote);

/* The version of the daemon. False: it does not report one. */
#define REMOTE_VERSION_MAX 64
bool remote_version(struct remote *remote, char ret[static REMOTE_VERSION_MAX]);
/* The same for a daemon on this machine whose disks were not understood. */
bool remote_ask_version(const char *private_socket, char ret[static REMOTE_VERSION_MAX]);

/* Reads the disks again. The same errors. */
int remote_read(struct remote *remote, struct views *ret);

/*
 * Calls f for each program that no switch may disturb. disk: "" for any. The same errors, and
 * -ENOSYS: the daemon has no inhibitors.
 */
typedef void inhibitor_fn(const char *disk, const char *who, const char *why, void *data);
int remote_each_inhibitor(struct remote *remote, inhibitor_fn *f, void *data);
/* Notes who inhibits the switches of each disk, which the disks on the bus do not have. After an
 * error it notes no program. */
void remote_read_inhibited(struct remote *remote, struct views *views);

/*
 * Calls a method of the manager for a disk. value: NULL for methods without one (and without
 * options). Returns 0, or a negative errno with the error set. reply may be NULL.
 */
struct remote_call {
        const char *method, *disk, *value;
        bool force, interactive;
        const char *why;     /* of Inhibit, which has this argument instead of options */
        uint64_t limit_usec; /* for the answer; 0: ORDER_USEC */
        char **ret_in_use; /* gets the error of a disk in use, which then is not reported; NULL: it
                              is */
};
int remote_call(struct remote *remote, const struct remote_call *c, sd_bus_message **ret_reply,
                sd_bus_error *ret_error);

/* Parses the answer of GetManagedObjects. -EBADMSG: not understood. */
int remote_parse(sd_bus_message *m, struct views *ret);
/* Parses the answer of ListDisks. Other members stay empty. The same errors. */
int remote_parse_brief(sd_bus_message *m, struct views *ret);
/* Parses InterfacesAdded. 1 and the disk, 0: something else, -EBADMSG. */
int remote_parse_added(sd_bus_message *m, struct view *ret);
/* Reads Reason and Busy of the disk into v, because no signal carries them. Does nothing if its
 * state has changed meanwhile: then another signal is on its way. Nor without an answer. */
void remote_read_rest(struct remote *remote, struct view *v);
/* Parses PropertiesChanged after its first argument, and updates v. -EBADMSG: v is partly updated.
 */
int remote_parse_changed(sd_bus_message *m, struct view *v);

#define JOB_WORD_MAX 24
struct job_step {
        char disk[INTERFACE_NAME_MAX], state[JOB_WORD_MAX], step[JOB_WORD_MAX];
};
/* The same for a job. */
int remote_parse_step(sd_bus_message *m, struct job_step *ret);

/* ---- changes ---- */

/* Changes of a disk. */
enum disk_event {
        DISK_PRESENT, /* it was there when the watch began */
        DISK_ADDED,
        DISK_CHANGED,
        DISK_REMOVED,
};

/*
 * The disks from the daemon, kept up to date by its signals, and its other signals. A signal
 * carries the new values. So all disks are read once, and again only if a signal cannot be
 * understood or uasd was restarted.
 */
struct daemon_watch {
        struct remote *remote;
        sd_bus_slot *slots[4];
        struct views disks;
        /* Called for each event of a disk; NULL: none. The disk is in `disks`. */
        void (*on_disk)(const struct view *v, enum disk_event e, void *data);
        const char *disk; /* on_step is called for this disk; NULL: for all */
        /* step is "" without one; NULL: no callback */
        void (*on_step)(const char *disk, const char *step, void *data);
        void *data;      /* of both */
        const char *job; /* the wait ends with this one, or NULL */
        int hangup_fd;   /* -EPIPE when its reader has gone; -1: none */
        bool changed;    /* a disk has changed; the caller resets it */
        bool gone;       /* the daemon has left the bus; the caller resets it */
        bool reread;
        bool ended; /* the job has ended, with */
        struct outcome outcome;
};

#define DAEMON_WATCH_NULL ((struct daemon_watch){.hangup_fd = -1, .outcome.code = -1})

/* Call it before the request. w must keep its address. 0 or a negative errno as from remote_read().
 */
int daemon_watch_open(struct daemon_watch *w, struct remote *remote);
/* Reads all disks again, because the signals for Reason and Busy carry no value. 0 or -errno. */
int daemon_watch_refresh(struct daemon_watch *w);
void daemon_watch_close(struct daemon_watch *w);
/* Waits until one of the above is true, or until `deadline` (now_boottime()). 0, -ETIMEDOUT,
 * -EPIPE, other -errno. */
int daemon_watch_next(struct daemon_watch *w, uint64_t deadline);
