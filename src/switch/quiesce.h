/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "switch/transaction.h"
#include "sys/users/users.h"

/* The users of a disk come from sys/users; the opens that have no name, from sys/block/counts. */

/* Reports the users of the disk. Returns 0 if there are none. */
int look_for_users(struct transaction *t, bool deep);
/* Reports the node that another process has claimed. Returns -EBUSY. */
int refuse_claimed(struct transaction *t, const char *node);
/* Counts the users that exempt() accepts. Returns 0, -EBUSY if there are others, or -errno if the
 * users are unknown. */
int count_exempt(const struct transaction *t, const struct usb_disk *d,
                 bool (*exempt)(const struct transaction *t, const struct user *u), size_t *ret);
/* Fails if the driver counts an open that no list shows. Called after claim_prepare() and a search
 * by name without a result. */
int look_for_strangers(struct transaction *t);
/* Syncs the nodes. Repeats search and sync until no process has touched the disk meanwhile. */
int step_sync(struct transaction *t);
int take_fingerprint(struct transaction *t);
/* Claims the disk. After success it is deleted, or the claim is released at once. */
int close_door(struct transaction *t);
