/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/manager.h"

/* The ends of uses of the disks that wait, without polling. */
int use_watch_new(struct manager *m, struct use_watch **ret);
void use_watch_free(struct use_watch *w);
void use_watch_add(struct entry *e);
void use_watch_remove(struct entry *e);
/* The nodes of the disk have changed. */
void use_watch_nodes(struct entry *e);
/* A use may have ended. */
void use_watch_changed(struct use_watch *w);
/* The end of a use may have been lost. */
void use_watch_lost(struct use_watch *w);
/* The inotify for users_told(), which listens while a disk waits; -errno. */
int use_watch_ends(struct use_watch *w);
