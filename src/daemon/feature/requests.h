/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/trim.h"
#include "daemon/manager.h"

/* Requests of users. Return 0 or -errno; ret_request: the number in JobRemoved. */
int request_switch(struct entry *e, enum driver target, bool force, unsigned *ret_request);
/* These three answer the call when they are done, unless they return an error. */
int request_policy(struct entry *e, enum policy p, bool force, sd_bus_message *call);
/* -EOPNOTSUPP: none of its disks offers TRIM, or uasd sees none. ret_offer is written in any case. */
int request_trim(struct entry *e, bool on, bool force, sd_bus_message *call, enum trim_offer *ret_offer);
int request_forget(struct entry *e, sd_bus_message *call);
/* Cancels a waiting switch. -EBUSY: it is being switched. */
int request_cancel(struct entry *e);
int request_release(struct entry *e);
/* Called after every step of the machine: ends the request if it has finished. */
void request_settle(struct entry *e);
/* Records that it was cancelled, so that this outlives the process. */
void request_keep_cancelled(const struct entry *e);
