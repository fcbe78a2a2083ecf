/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "client/client.h"
#include "client/remote.h"
#include "common/exit-codes.h"

/*
 * Hands a request to the daemon, with a password asked for if that is allowed and needed. ret_job: NULL, or
 * room for the path of the job that comes of it. Tells what goes wrong; returns an enum uasd_exit.
 */
int request_call(const struct client *c, struct remote *r, const struct remote_call *call, char **ret_job);
/* The same, with the answer itself: for methods that begin no job. */
int request_reply(const struct client *c, struct remote *r, const struct remote_call *call, sd_bus_message **ret_reply);

/* Behind what is refused without force, and not with it. */
#define FORCE_HELPS "Use --force to override."
