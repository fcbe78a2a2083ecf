/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/queue.h"

/* These may free entries: only manager.c calls them, for the queue. */
void rescan_disk(struct manager *m, const char *interface);
void rescan_all(struct manager *m);
/* The same with EVENT_AGAIN: one step for what was read and for the wish. */
void rescan_again(struct entry *e);
