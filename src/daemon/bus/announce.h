/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "daemon/loop.h"

struct entry;
struct manager;

/* Signals to all clients. This part does not depend on the methods. */

#define DISK_PATH_PREFIX "/org/uasd1/disk"
#define JOB_PATH_PREFIX "/org/uasd1/job"
#define JOB_PATH_MAX (sizeof(JOB_PATH_PREFIX) + 16)

#define PEERS_MAX 32
struct bus {
        struct manager *manager;
        sd_bus *system;
        struct later rejoin;
        int join_error; /* that of the last try to join the system bus, which was reported; 0: none
                         */
        sd_bus *peers[PEERS_MAX];
};

/* Joins the system bus and opens the private socket. */
void bus_start(struct manager *m);

/*
 * Appends a string from outside. D-Bus accepts only UTF-8: one invalid property would keep all
 * clients from the list of disks. Names in it may be harmless already.
 */
int bus_append_text(sd_bus_message *m, const char *s);
/* Returns the path of a disk, to be freed; NULL without memory. */
char *bus_disk_path(const struct entry *e);
/* NULL: there is no such disk. */
struct entry *bus_disk_find(struct manager *m, const char *path);
char *bus_job_path(const struct entry *e, char ret[static JOB_PATH_MAX]);
struct entry *bus_job_find(const struct manager *m, const char *path);
/* "waiting", "running" or "done". */
const char *bus_job_state(const struct entry *e);

void bus_disk_added(struct entry *e);
void bus_disk_removed(struct entry *e);
void bus_disk_changed(struct entry *e);
void bus_inhibitors_changed(struct manager *m);
/* For the request of an entry with a number: it was added, its state may have changed, a step has
 * begun, it has ended. */
void bus_request_added(struct entry *e);
void bus_request_changed(struct entry *e);
void bus_request_step(struct entry *e, const char *step);
void bus_request_done(struct entry *e, int code, const char *step, const char *text);
