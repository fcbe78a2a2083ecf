/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "client/client.h"
#include "core/history.h"
#include "ctl/options.h"
#include "term/json.h"

/* The context of every verb. */
struct ctl {
        const struct options *options;
        struct client client;
        const char *root;     /* the folder with client.roots; NULL: this machine */
        struct remote remote; /* the connection for further calls, if there is one */
        struct views views;   /* the disks */
        bool named;           /* the user named them */
        json_object *json;    /* the list of ctl_json() */
        const struct view *v; /* the selected disk; NULL: none was named, or it is not plugged in */
        char id[HISTORY_KEY_MAX]; /* VID:PID:SERIAL of a disk that is not plugged in */
};

enum disks_source {
        FROM_NOWHERE,        /* the verb reads them itself */
        FROM_DAEMON,         /* for verbs that change something, which need uasd */
        FROM_DAEMON_OR_ROOT, /* the same; root can do it without uasd (ctl/alone.h): then the disks
                                come from the kernel, and there is no remote.bus */
        FROM_KERNEL,         /* with the users of each disk */
        FROM_EITHER,         /* from the daemon, or without it from the kernel */
};

/* Reads the disks once. what: the disk to select, or NULL. Reports errors. Returns an enum
 * uasd_exit, like the next ones. */
int ctl_read(struct ctl *c, enum disks_source from, const char *what);
/* Drops all disks from c->views except these, which come in this order; without names, none. One
 * name also sets c->v. */
int ctl_choose(struct ctl *c, char **names);
/* Selects one of the disks that were read. */
int ctl_select(struct ctl *c, const char *what);
bool ctl_is_plugged_in(const struct ctl *c, const char *what);
/* VID:PID, which a serial number may follow: the bridge of a disk that may not be plugged in. */
bool ctl_parse_bridge(const char *s, uint16_t *ret_vid, uint16_t *ret_pid);
/* The same. It may also be VID:PID:SERIAL of a disk that is not plugged in, which goes to c->id. */
int ctl_select_or_id(struct ctl *c, const char *what);
/* The same. It may also be the serial number of a disk on record or in the journal. */
int ctl_select_recorded(struct ctl *c, const char *what);
/* After FROM_KERNEL: adds the members that only the daemon knows. Returns false, reported, if it
 * does not answer. */
bool ctl_ask_daemon(struct ctl *c);
/* The list of disks that verb_run() prints as JSON, if the verb succeeds. NULL: without --json. */
json_object *ctl_json(struct ctl *c);
/* After FROM_DAEMON: calls a method for this disk, with --force. value: as in struct remote_call.
 */
int ctl_call(struct ctl *c, const char *method, const char *value);
/* The same, without a value. Then prints the label of the disk, and `done`, which is translated. */
int ctl_send(struct ctl *c, const char *method, const char *done);
