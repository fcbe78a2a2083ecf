/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/trim.h"
#include "daemon/manager.h"

/* Requests of users. 0 or -errno; ret_request: the number that JobRemoved will have. */
int request_switch(struct entry *e, enum driver target, bool force, unsigned *ret_request);
/* These three answer the call when it is done, unless they return an error. */
int request_policy(struct entry *e, enum policy p, bool force, sd_bus_message *call);
/* -EOPNOTSUPP: none of its disks offers it, or none that shows; ret_offer is written in any case. */
int request_trim(struct entry *e, bool on, bool force, sd_bus_message *call, enum trim_offer *ret_offer);
int request_forget(struct entry *e, sd_bus_message *call);
/* What waits. -EBUSY: it is being switched. */
int request_cancel(struct entry *e);
int request_release(struct entry *e);
/* After every step of the machine: ends the request if it has come to its end. */
void request_settle(struct entry *e);
/* Whether it was cancelled outlives this process. */
void request_keep_cancelled(const struct entry *e);
