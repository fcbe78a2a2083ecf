/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/manager.h"

/* Inside the bus: bus.c has the connections, bus-objects.c, bus-jobs.c and bus-methods.c what is on them. org.uasd1.xml is the contract. */

/* Puts the objects on a connection; the second of them is the first one's. */
int bus_objects_add(sd_bus *bus, struct manager *m);
int bus_jobs_add(sd_bus *bus, struct manager *m);

#define DISK_PATH_PREFIX "/org/uasd1/disk"
#define JOB_PATH_PREFIX "/org/uasd1/job"
#define JOB_PATH_MAX (sizeof(JOB_PATH_PREFIX) + 16)

#define MAY_SWITCH "org.uasd1.switch"

/* To everybody who is connected. */
typedef int (*tell_fn)(sd_bus *bus, const char *path, void *data);
void bus_tell_all(struct bus *b, const char *path, tell_fn tell, void *data);

/* The path of a disk, to be freed; NULL without memory. */
char *bus_disk_path(const struct entry *e);

/* org.uasd1.Manager; its data is the manager. */
extern const sd_bus_vtable bus_manager_vtable[];
