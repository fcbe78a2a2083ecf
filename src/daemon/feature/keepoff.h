/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/manager.h"

/*
 * Entries in the quirks parameter for disks that are wanted on usb-storage, so that they never start on uas. Where a bind is at
 * work, or usb_storage has to be loaded first, they are looked at again later.
 */
int keepoff_new(struct manager *m);
void keepoff_free(struct manager *m);
/* A policy, a history or the driver of a disk has changed: they are looked at, and all disks read again if they have changed. */
void keepoff_schedule(struct manager *m);
/* The same, at once. Returns true if they have changed, and all facts are those of before. */
bool keepoff_review(struct manager *m);
/* The policy of a disk that is here is known of it alone: the configuration names no disk, and udev's rules only this one. */
void keepoff_see(struct entry *e, const struct facts *now);
/* What was wanted of a disk while it was plugged in counts no more. id: VID:PID:SERIAL */
void keepoff_forget(struct manager *m, const char *id);
