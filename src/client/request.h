/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "client/client.h"
#include "client/remote.h"
#include "common/exit-codes.h"

/*
 * Sends a request to the daemon. It may ask for a password if that is allowed and needed. ret_job: NULL, or gets the path of the
 * job. Reports errors. Returns an enum uasd_exit.
 */
int request_call(const struct client *c, struct remote *r, const struct remote_call *call, char **ret_job);
/* The same, and returns the answer: for methods that begin no job. */
int request_reply(const struct client *c, struct remote *r, const struct remote_call *call, sd_bus_message **ret_reply);

/* Advice after a refusal that --force would override. */
#define FORCE_HELPS "Use --force to override."
