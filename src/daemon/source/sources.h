/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "common/util.h"
#include "daemon/manager.h"

/* Sources do not know each other, and only post. */

/* uevents.c: events of the kernel and of udev, and marks that other programs write in /run/uasd */
int uevents_start(struct manager *m);

/* boot.c: posts POST_BOOTED when the boot is over */
void boot_await(struct manager *m);

/* sleep.c: whether logind is sending the machine to sleep. Called when the connection to the system bus is new. */
int sleep_watch(struct manager *m);

/* kmsg.c */
/* Reads the kernel's log while a disk is on uas. The function returns true if an account has changed. */
void kmsg_start(struct manager *m, kmsg_sign_fn take);
void kmsg_stop(struct manager *m);  /* called at the end of uasd */
void kmsg_arm(struct manager *m);   /* called when a disk came, went, or changed its driver */
void kmsg_keep(struct manager *m);  /* called when the accounts have changed */
void kmsg_drain(struct manager *m); /* counts all present records before anything changes */

/* uses.c */
/* Notices the ends of uses of the disks that wait, without polling. */
int use_watch_start(struct manager *m);
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
