/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "common/util.h"
#include "daemon/manager.h"

/* Reads the kernel's log while a disk is on uas. The function returns true if an account has changed. */
typedef bool (*kmsg_sign_fn)(struct manager *m, const struct sign *s, usec_t usec, bool live);
int kmsg_new(struct manager *m, kmsg_sign_fn take, struct kmsg_watch **ret);
void kmsg_stop(struct kmsg_watch *w);  /* called at the end of uasd */
void kmsg_arm(struct kmsg_watch *w);   /* called when a disk came, went, or changed its driver */
void kmsg_keep(struct kmsg_watch *w);  /* called when the accounts have changed */
void kmsg_drain(struct kmsg_watch *w); /* counts all present records before anything changes */
