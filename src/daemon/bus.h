/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/refusal.h"
#include "daemon/manager.h"

/* Inside the bus: bus.c has the connections, bus-objects.c, bus-jobs.c and bus-methods.c what is on them. org.uasd1.xml is the contract. */

/* Puts the objects on a connection; the second of them is the first one's. */
int bus_objects_add(sd_bus *bus, struct manager *m);
int bus_jobs_add(sd_bus *bus, struct manager *m);

#define DISK_PATH_PREFIX "/org/uasd1/disk"
#define JOB_PATH_PREFIX "/org/uasd1/job"
#define JOB_PATH_MAX (sizeof(JOB_PATH_PREFIX) + 16)

#define MAY_SWITCH "org.uasd1.switch"
#define MAY_POLICY "org.uasd1.policy"
#define MAY_FORCE "org.uasd1.force"

/* To everybody who is connected. */
typedef int (*tell_fn)(sd_bus *bus, const char *path, void *data);
void bus_tell_all(struct bus *b, const char *path, tell_fn tell, void *data);

/*
 * The way for a string that is not a word of ours. D-Bus takes UTF-8 alone, and with one property that it does not take nobody
 * is told of any disk. Names in it may be harmless already.
 */
int bus_append_text(sd_bus_message *m, const char *s);

/* bus-objects.c */
int bus_method_list_disks(sd_bus_message *message, void *data, sd_bus_error *error);
/* The path of a disk, to be freed; NULL without memory. */
char *bus_disk_path(const struct entry *e);

/* The disk a method is about: its first argument. */
int bus_read_disk(sd_bus_message *message, struct manager *m, struct entry **ret, sd_bus_error *error);
/* An error if this disk can never be on that driver. */
int bus_refuse_impossible(const struct entry *e, enum driver target, sd_bus_error *error);
/* The error for what core/refusal.h refuses; 0 if it does not. */
int bus_refuse(const struct entry *e, const struct refusal *no, sd_bus_error *error);
/* The error where a switch is under way. */
int bus_refuse_running(const struct entry *e, sd_bus_error *error);

/* a{sv}: the option force; any other is an error. */
int bus_read_options(sd_bus_message *message, bool *ret_force, sd_bus_error *error);
typedef int (*bus_method_fn)(sd_bus_message *message, void *data, sd_bus_error *error);
/* Answers `method`, which polkit may have called once more. */
int bus_set_policy(sd_bus_message *message, struct entry *e, const char *policy, bool force, bus_method_fn method, sd_bus_error *error);

/* bus-absent.c */
int bus_method_list_policies(sd_bus_message *message, void *data, sd_bus_error *error);
int bus_method_set_policy_of(sd_bus_message *message, void *data, sd_bus_error *error);
int bus_method_forget_of(sd_bus_message *message, void *data, sd_bus_error *error);

/* bus-lease.c */
int bus_method_inhibit(sd_bus_message *message, void *data, sd_bus_error *error);
int bus_method_lease(sd_bus_message *message, void *data, sd_bus_error *error);
int bus_get_inhibitors(sd_bus *bus, const char *path, const char *interface, const char *property, sd_bus_message *reply,
                       void *data, sd_bus_error *error);
/* A disk that somebody has for himself: an error for everybody else. 1: this is he; 0: nobody has it. */
int bus_leased(const struct entry *e, sd_bus_message *message, sd_bus_error *error);

/* org.uasd1.Manager; its data is the manager. */
extern const sd_bus_vtable bus_manager_vtable[];
