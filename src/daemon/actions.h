/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/queue.h"

/* Steps the machine of a disk and performs its actions. Called only by the queue and rescan.c. */
void entry_step(struct entry *e, const struct event *event);
/* Checks whether the disk is in use, and steps EVENT_USERS. A search by name posts it later. */
void entry_look(struct entry *e);
