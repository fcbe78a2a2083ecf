/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "switch/transaction.h"

/* The disks that the new driver shows, by sysfs and by the events of the kernel or of udev. */

/* Called immediately after the bind: sets `ahead`. Of two interfaces, only the one that is bound
 * later sees the other. */
void look_ahead(struct transaction *t);
/* The reason why a late disk is not to blame; NULL: it is to blame. */
const char *why_late(const struct transaction *t);
/* Returns the time for which this driver shows no disk after the bind. */
usec_t scan_delay(const struct transaction *t, enum driver d);
/*
 * Waits until all former LUNs are back. While udev's helper waits, a LUN is back when the kernel
 * has announced it, otherwise when udev has processed it. idle: called repeatedly meanwhile, or
 * NULL. Returns 0, -EINPROGRESS if they are back but udev has not finished, or -ETIMEDOUT.
 */
int wait_for_disks(struct transaction *t, struct awake deadline,
                   void (*idle)(struct transaction *t));
/* Waits until udev has processed the new disks. Its worker has the disk open, which keeps the name
 * of a removed disk. */
void wait_for_udev(struct transaction *t, struct awake deadline);
