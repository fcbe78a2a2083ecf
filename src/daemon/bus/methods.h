/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/manager.h"

/* The objects on a connection. uasd-dbus(7) describes them. Only connections.c adds them.
 */
int bus_objects_add(sd_bus *bus, struct manager *m);
/* The same interfaces, all on one object without data, which can only be introspected. */
int bus_interfaces_add(sd_bus *bus);

/* methods.c: the methods that need a permission. The data of a disk or a job is its entry. */
extern const sd_bus_vtable bus_manager_methods[], bus_disk_methods[], bus_job_methods[];

/* polkit.c */
/*
 * Permissions on the system bus. Root may call everything, also without polkit. For other callers
 * polkit decides, and may ask for a password. Nothing here waits.
 */
typedef int (*method_fn)(sd_bus_message *message, void *data, sd_bus_error *error);

/*
 * A method calls this before it changes anything. other_seat: the action for a user who is not
 * active at the seat of the disk, or NULL if the seat does not matter. e: its disk, which polkit's
 * message names, or NULL for any. Returns 1 if the method may go on, or -errno with error set if it
 * is refused. Returns 0 while polkit is being asked: then the method must return 1 to sd-bus. It is
 * called again with the answer. ret_uid: the caller; only set with 1.
 */
int polkit_may(struct manager *m, sd_bus_message *message, const char *action,
               const char *other_seat, const struct entry *e, method_fn method, uid_t *ret_uid,
               sd_bus_error *error);
