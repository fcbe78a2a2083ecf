/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/manager.h"

/*
 * TakeMounts=boot, for systems whose own tool mounts disks before uas is there. In the first
 * minutes after the boot a hook has that tool unmount a disk that waits. After its switch the hook
 * has the tool mount it again. uasd switches it as any other disk: only if it is free. A hook that
 * fails changes nothing.
 */

/* Called after every step of the machine. */
void take_follow(struct entry *e);
/* For a new disk that the hook of an earlier uasd has unmounted. hook: as in the mark. */
void take_adopt(struct entry *e, const char *hook);
/* The entry is freed: a hook at work goes on by itself. */
void take_forget(struct entry *e);
/* uasd ends: the disks are mounted again. */
void take_end(struct manager *m);
