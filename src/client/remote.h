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
 * For connection and answer together. A stopped daemon must not stop whoever only looks: sysfs tells him, too. Whoever orders
 * something, or waits, has nobody else to turn to, and a machine that boots, or has many disks on the move, may be slow.
 */
#define GLANCE_USEC (5 * USEC_PER_SEC)
#define ORDER_USEC (30 * USEC_PER_SEC)

/* What a connection is for. */
enum remote_use {
        REMOTE_LOOK,       /* one look at the disks: the private socket first, which is the shorter way */
        REMOTE_LOOK_BRIEF, /* the same, and of each disk only what ListDisks returns, if uasd knows that */
        REMOTE_ORDER,      /* orders: the system bus first, where uasd can ask polkit who gives them */
};
/*
 * private_socket: NULL if only the system bus is to be tried.
 * Returns 0; -ENOTCONN: no daemon; -ETIMEDOUT: one that does not answer; -EBADMSG: not understood.
 */
int remote_open(const char *private_socket, enum remote_use use, uint64_t limit_usec, struct remote *ret,
                struct views *ret_disks);
/* By ssh, which may ask for a password, and tells on stderr itself what goes wrong. The same, and -EHOSTUNREACH: no bus there. */
int remote_open_host(const char *host, uint64_t limit_usec, struct remote *ret, struct views *ret_disks);
void remote_close(struct remote *r);

/* The daemon's own. False: it does not say. */
#define REMOTE_VERSION_MAX 64
bool remote_version(struct remote *r, char ret[static REMOTE_VERSION_MAX]);
/* The same of a daemon whose disks were not understood, on this machine. */
bool remote_ask_version(const char *private_socket, uint64_t limit_usec, char ret[static REMOTE_VERSION_MAX]);

/* The disks once more. The same errors. */
int remote_read(struct remote *r, uint64_t limit_usec, struct views *ret);

/*
 * Calls a method of the manager for a disk. value: NULL for methods that take none (and no options).
 * Returns 0 or a negative errno with the error set; reply may be NULL.
 */
struct remote_call {
        const char *method, *disk, *value;
        bool force, interactive;
        const char *why; /* of Inhibit, which takes that instead of options */
};
int remote_call(struct remote *r, const struct remote_call *c, sd_bus_message **ret_reply, sd_bus_error *ret_error);

/* What GetManagedObjects answers. -EBADMSG: not understood. */
int remote_parse(sd_bus_message *m, struct views *ret);
/* What ListDisks answers; what it does not tell is left empty. The same errors. */
int remote_parse_brief(sd_bus_message *m, struct views *ret);
/* InterfacesAdded: 1 and the disk, 0: something else, -EBADMSG. */
int remote_parse_added(sd_bus_message *m, struct view *ret);
/* PropertiesChanged, behind its first argument: what it tells, into v. -EBADMSG: v is part new, part old. */
int remote_parse_changed(sd_bus_message *m, struct view *v);
