/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/manager.h"

/* Called after a change of a policy, a history or a driver. If the entries change, all disks are
 * read again. */
void keepoff_schedule(struct manager *m);
/*
 * The same, at once. came: a disk without an entry yet, or NULL. Returns true if they have changed:
 * then all facts are from before the change.
 */
bool keepoff_review(struct manager *m, const struct facts *came);
/*
 * Remembers the policy of a disk that is plugged in. Only the disk itself shows it: the
 * configuration names no disk, and udev's rules only this one.
 */
void keepoff_see(struct entry *e, const struct facts *now);
/* Drops the remembered policy of a disk. id: VID:PID:SERIAL */
void keepoff_forget(struct manager *m, const char *id);
