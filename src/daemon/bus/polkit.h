/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/manager.h"

/*
 * Who may call what on the system bus. Root always may, also where there is no polkit; others are polkit's to decide on, who may
 * have to be asked for a password. Nothing here waits.
 */

typedef int (*method_fn)(sd_bus_message *message, void *data, sd_bus_error *error);

/*
 * To be called by a method before it changes anything. e: the disk it is about, which polkit's message names; NULL: any.
 * Returns 1: go on; 0: it is being found out, and the method is called again with the answer: return 1 to sd-bus; -errno with
 * error set: refused.
 */
int polkit_may(struct manager *m, sd_bus_message *message, const char *action, const struct entry *e, method_fn method,
               sd_bus_error *error);

/* Open questions go unanswered: their connection is no more. */
void polkit_forget(struct manager *m);
