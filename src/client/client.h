/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "client/local.h"
#include "client/remote.h"
#include "client/view.h"
#include "common/exit-codes.h"
#include "common/gettext.h"
#include "core/remedy.h"
#include "core/request.h"
#include "sys/io/roots.h"

/* The machine that a program reads, and the way to the daemon there. */
struct client {
        struct roots roots;
        bool ask_password;
};

/* These functions report errors. Each returns an enum uasd_exit. */

/* Connects to the daemon, and reads what only it knows of the disks (remote.h). Returns false
 * without a daemon, which is reported as a note. */
bool source_ask(const struct client *c, enum remote_use use, bool users, struct remote *ret_remote,
                struct courses *ret_courses);
/* The disks from the kernel. courses: as in local_read(). */
int source_local(const struct client *c, enum detail detail, struct courses *courses,
                 struct views *ret);
/* The same with what the daemon knows of them, if it answers. */
int source_read(const struct client *c, enum detail detail, struct views *ret);

/* For verbs that change something, which need the daemon. */
int source_connect(const struct client *c, struct remote *ret_remote, struct views *ret);
/* The same for a verb that also works without it: if uasd does not run, that is not reported, and
 * there is no ret_remote->bus. */
int source_connect_if_running(const struct client *c, struct remote *ret_remote, struct views *ret);

/* The one disk with this name. */
int source_select(const struct client *c, const struct views *v, const char *what,
                  const struct view **ret);

/* The daemon does not have this member, because its version differs. */
int source_lacks(struct remote *remote, const char *member);
/* The connection failed: the exit status for this errno of remote_read(). */
int source_lost(int error);
/* Names a command, if this machine has it and the disks are its own. operand: may be NULL. before:
 * translated. Returns false if it has none. */
bool client_say_command(const struct client *c, enum remedy id, const char *operand,
                        const char *before);

/*
 * Sends a request to the daemon. It may ask for a password if that is allowed and needed. ret_job:
 * NULL, or gets the path of the job. Reports errors. Returns an enum uasd_exit.
 */
int request_call(const struct client *c, struct remote *remote, const struct remote_call *call,
                 char **ret_job);
/* The same, and returns the answer: for methods that begin no job. */
int request_reply(const struct client *c, struct remote *remote, const struct remote_call *call,
                  sd_bus_message **ret_reply);

/* Advice after a refusal that --force would override. */
#define FORCE_HELPS N_("Use --force to override.")
