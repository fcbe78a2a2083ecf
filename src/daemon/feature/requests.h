/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/trim.h"
#include "daemon/manager.h"

/* Requests of users. Return 0 or -errno. */
/* entry.request is the request then. */
int request_switch(struct entry *e, enum driver target, bool force);
/* These three answer the call when they are done, unless they return an error. e: NULL for a disk that is not plugged in, `id`.
 */
int request_policy(struct manager *m, struct entry *e, const char *id, enum policy p, bool force, sd_bus_message *call);
int request_forget(struct manager *m, struct entry *e, const char *id, sd_bus_message *call);
/* -EOPNOTSUPP: none of its disks offers TRIM, or uasd sees none. ret_offer is written in any case. */
int request_trim(struct entry *e, bool on, bool force, sd_bus_message *call, enum trim_offer *ret_offer);
/* Cancels a waiting switch. -EBUSY: it is being switched. */
int request_cancel(struct entry *e);
int request_release(struct entry *e);
/* Called after every step of the machine: ends the request if it has finished. */
void request_settle(struct entry *e);
/* Records that it was cancelled, so that this outlives the process. */
void request_keep_cancelled(const struct entry *e);
