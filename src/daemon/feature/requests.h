/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/trim.h"
#include "daemon/bus/answer.h"
#include "daemon/manager.h"

/* Requests of users. Return 0 or -errno; entry.request is the request of request_switch() then. */
int request_switch(struct entry *e, enum driver target, bool force);
/* These three answer the call when they are done, unless they return an error. e: NULL for a disk
 * `id` that is not plugged in. */
int request_policy(struct manager *m, struct entry *e, const char *id, enum policy p, bool force,
                   struct bus_call *call);
int request_forget(struct manager *m, struct entry *e, const char *id, struct bus_call *call);
/* -EOPNOTSUPP: none of its disks offers TRIM, or uasd has seen none under uas. ret_offer is written
 * in any case. */
int request_trim(struct entry *e, bool on, bool force, struct bus_call *call,
                 enum trim_offer *ret_offer);
/*
 * Called when a disk has new block devices: reports, once for an attachment, a setting that is for
 * another medium. Notes what offers TRIM under uas.
 */
void request_trim_look(struct entry *e);
/* Cancels a waiting switch. -EBUSY: it is being switched. */
int request_cancel(struct entry *e);
int request_release(struct entry *e);
/* Called after every step of the machine: ends the request if it has finished. */
void request_settle(struct entry *e);
/* Records that it was cancelled, so that this outlives the process. */
void request_keep_cancelled(struct entry *e);
