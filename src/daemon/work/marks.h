/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/manager.h"
#include "sys/state/attachment.h"

/*
 * The marks of a disk in /run (sys/state/attachment.h), as uasd changes them. If /run is full, a
 * change waits in memory until the next change of the same disk, at the latest until uasd ends. So
 * the next uasd does not read a mark that is no longer true.
 */

/* Changes the mark now. Returns 0 or -errno: then nothing has changed. */
int mark_set(struct entry *e, unsigned fields, const struct attachment_mark *to);
/* Changes it now or later. */
void mark_keep(struct entry *e, unsigned fields, const struct attachment_mark *to);
/* attachment_read() with the changes that wait. f: the facts of the disk, also before e has them.
 */
int mark_read(const struct entry *e, const struct facts *f, struct attachment_mark *ret);
/* attachment_drop_override(), now or later. */
void mark_drop_override(struct entry *e, enum driver target);
/* uasd ends: the last try for all disks. */
void marks_end(struct manager *m);
