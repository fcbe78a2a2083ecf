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
        REMOTE_LOOK,  /* one reading of the disks: the private socket first, which is faster */
        REMOTE_ORDER, /* orders: the system bus first, where polkit can identify the user */
};
/*
 * Without a private_socket only the system bus is tried. ret_courses gets what only uasd knows of
 * its disks (view_take_course()), and with `users` also their users. Returns 0. -ENOTCONN: no
 * daemon. -ENETDOWN: no bus. -ETIMEDOUT: no answer. -EBADMSG: not understood.
 */
int remote_open(const char *private_socket, enum remote_use use, bool users, uint64_t limit_usec,
                struct remote *ret, struct courses *ret_courses);
void remote_close(struct remote *remote);

/* The version of the daemon. False: it does not report one. */
#define REMOTE_VERSION_MAX 64
bool remote_version(struct remote *remote, char ret[static REMOTE_VERSION_MAX]);
/* The same for a daemon on this machine whose disks were not understood. */
bool remote_ask_version(const char *private_socket, char ret[static REMOTE_VERSION_MAX]);

/* Reads the courses again, with their users. The same errors. */
int remote_read(struct remote *remote, struct courses *ret);

/*
 * Calls f for each program that no switch may disturb. disk: "" for any. The same errors, and
 * -ENOSYS: the daemon has no inhibitors.
 */
typedef void inhibitor_fn(const char *disk, const char *who, const char *why, void *data);
int remote_each_inhibitor(struct remote *remote, inhibitor_fn *f, void *data);
/* Calls ListPolicies. The same errors, or that of uasd. */
int remote_policies(struct remote *remote, sd_bus_message **ret_reply);

/*
 * Calls a method of a disk, or of the manager. Returns 0, or a negative errno with the error set.
 * reply may be NULL.
 */
struct remote_call {
        const char *method;
        const char *disk; /* its Id; NULL: the method is one of the manager */
        const char *id;   /* VID:PID:SERIAL, the first argument of such a method; NULL: none */
        const char *value, *why; /* the next arguments; NULL: none */
        bool force, interactive;
        uint64_t limit_usec; /* for the answer; 0: ORDER_USEC */
        char **ret_in_use; /* gets the error of a disk in use, which then is not reported; NULL: it
                              is */
};
int remote_call(struct remote *remote, const struct remote_call *c, sd_bus_message **ret_reply,
                sd_bus_error *ret_error);
