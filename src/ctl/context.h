/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "client/client.h"
#include "client/remote.h"
#include "client/view.h"
#include "common/exit-codes.h"
#include "core/history.h"
#include "ctl/options.h"

/* What every verb gets. */
struct ctl {
        const struct options *options;
        struct client client;
        const char *root;         /* the folder that client.roots are in; NULL: the machine itself */
        struct remote remote;     /* the connection to go on with, if there is one */
        struct views views;       /* the disks */
        const struct view *v;     /* the one of them that is meant; NULL: none was named, or it is not plugged in */
        char id[HISTORY_KEY_MAX]; /* VID:PID:SERIAL of one that is not plugged in */
};

enum disks_source {
        FROM_NOWHERE, /* the verb asks itself */
        FROM_DAEMON,  /* for verbs that write: without uasd there is nothing to be done */
        FROM_KERNEL,  /* with the users of each disk */
        FROM_EITHER,  /* from the daemon, else from the kernel */
};

/* Reads the disks, once; what: the disk that is meant, or NULL. Reports errors; returns an enum uasd_exit, as the next ones do.
 */
int ctl_read(struct ctl *c, enum disks_source from, const char *what);
/* The disk that is meant, of those that are read. */
int ctl_select(struct ctl *c, const char *what);
/* The same; it may also be VID:PID:SERIAL of one that is not plugged in: c->id then. */
int ctl_select_or_id(struct ctl *c, const char *what);
/* The same, which may also be the serial number of one on record or in the journal. */
int ctl_select_recorded(struct ctl *c, const char *what);
/* After FROM_KERNEL: takes what only the daemon knows of these disks. False, reported: it does not answer. */
bool ctl_ask_daemon(struct ctl *c);
/* After FROM_DAEMON: calls a method for this disk, with --force. value: as in struct remote_call. */
int ctl_call(struct ctl *c, const char *method, const char *value);
