/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "client/client.h"
#include "client/remote.h"
#include "common/exit-codes.h"

/* Functions here tell what goes wrong; each returns an enum uasd_exit. */

/* The daemon's word on all disks, and the connection to go on with; false, told as a note: there is none. */
bool source_ask(const struct client *c, struct remote *ret_remote, struct views *ret);
/* One look at all disks, and no connection. */
bool source_look(const struct client *c, struct views *ret);
/* The disks as the kernel shows them; users: with those who use them. */
int source_local(const struct client *c, bool users, struct views *ret);

enum detail {
        DETAIL_ALL,
        DETAIL_NO_USERS, /* without uasd nobody walks over all processes */
        DETAIL_BRIEF,    /* only what the columns show that are brief (ctl/columns.h) */
};
/* For verbs that read: from the daemon, else from the kernel itself. */
int source_read(const struct client *c, enum detail detail, struct views *ret);

/* For verbs that write: without the daemon there is nothing to be done. */
int source_connect(const struct client *c, struct remote *ret_remote, struct views *ret);
/* The same for a verb that goes on without it. True: no uasd runs, which is not told; else ret_code is what source_connect()
 * returns. */
bool source_not_running(const struct client *c, struct remote *ret_remote, struct views *ret, int *ret_code);

/* The one disk the user means. */
int source_select(const struct client *c, const struct views *v, const char *what, const struct view **ret);

/* Both in one; *ret_disk is in *ret, and goes with it. */
int source_connect_disk(const struct client *c, const char *what, struct remote *ret_remote, struct views *ret,
                        const struct view **ret_disk);

/* The daemon has no such member: it is older than this uasctl, or newer. */
int source_lacks(struct remote *r, const char *member);
/* The connection failed in the middle: the exit status for this errno of remote_read(). */
int source_lost(int error);
