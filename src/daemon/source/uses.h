/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/manager.h"

/* Notices the ends of uses of the disks that wait, without polling. */
int use_watch_new(struct manager *m, struct use_watch **ret);
void use_watch_add(struct entry *e);
void use_watch_remove(struct entry *e);
/* Called when the nodes of the disk have changed. */
void use_watch_nodes(struct entry *e);
/* Called when a use may have ended. */
void use_watch_changed(struct use_watch *w);
/* Called when the event of an end may have been lost. */
void use_watch_lost(struct use_watch *w);
/* Returns the inotify for users_told(), which listens while a disk waits; -errno. */
int use_watch_ends(struct use_watch *w);
