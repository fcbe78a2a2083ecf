/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "client/client.h"
#include "client/remote.h"
#include "common/exit-codes.h"

/* Functions here tell what goes wrong; each returns an enum uasd_exit. */

/* The daemon's word on all disks, and the connection to go on with; false, told as a note: there is none. */
bool source_ask(const struct client *c, struct remote *ret_remote, struct views *ret);
/* That word alone. */
bool source_look(const struct client *c, struct views *ret);
/* The kernel's. */
int source_local(const struct client *c, struct views *ret);
int source_local_quick(const struct client *c, struct views *ret);
/* For verbs that read: from the daemon, else from the kernel itself. */
int source_read(const struct client *c, struct views *ret);
/* The same for those that show no users (client/local.h): no walk over every process for each disk. */
int source_read_quick(const struct client *c, struct views *ret);
/* The same again, for no more than columns that are brief (ctl/columns.h). */
int source_read_brief(const struct client *c, struct views *ret);

/* For verbs that write: without the daemon there is nothing to be done. */
int source_connect(const struct client *c, struct remote *ret_remote, struct views *ret);
/* The same for a verb that goes on without it. True: no uasd runs, which is not told; else ret_code is what source_connect() returns. */
bool source_not_running(const struct client *c, struct remote *ret_remote, struct views *ret, int *ret_code);

/* The one disk the user means. */
int source_select(const struct client *c, const struct views *v, const char *what, const struct view **ret);

/* Both in one; *ret_disk is in *ret, and goes with it. */
int source_local_disk(const struct client *c, const char *what, struct views *ret, const struct view **ret_disk);
int source_read_disk(const struct client *c, const char *what, struct views *ret, const struct view **ret_disk);
int source_connect_disk(const struct client *c, const char *what, struct remote *ret_remote, struct views *ret,
                        const struct view **ret_disk);

/* The daemon has no such member: it is older than this uasctl, or newer. */
int source_lacks(struct remote *r, const char *member);
/* The connection failed in the middle: the exit status for this errno of remote_read(). */
int source_lost(int error);
