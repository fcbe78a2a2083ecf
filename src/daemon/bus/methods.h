/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/request.h"
#include "daemon/manager.h"

/* The objects on a connection. org.uasd1.xml defines the interface. */

#define MAY_SWITCH "org.uasd1.switch"
#define MAY_POLICY "org.uasd1.policy"
#define MAY_FORCE "org.uasd1.force"
#define MAY_EJECT "org.uasd1.eject"

/* methods.c: org.uasd1.Manager; its data is the manager. */
extern const sd_bus_vtable bus_manager_vtable[];
/* objects.c: org.uasd1.Disk */
int bus_disks_add(sd_bus *bus, struct manager *m);
int bus_method_list_disks(sd_bus_message *message, void *data, sd_bus_error *error);
/* jobs.c: org.uasd1.Job */
int bus_jobs_add(sd_bus *bus, struct manager *m);

/* arguments.c */
/* Reads the first argument of a method: a disk. */
int bus_read_disk(sd_bus_message *message, struct manager *m, struct entry **ret, sd_bus_error *error);
/* Reads a{sv}: the option force; any other is an error. */
int bus_read_options(sd_bus_message *message, bool *ret_force, sd_bus_error *error);
/* Reads a disk, a word and options. */
int bus_read_wish(sd_bus_message *message, struct manager *m, struct entry **ret, const char **ret_word, bool *ret_force,
                  sd_bus_error *error);
/* Returns the facts that decide a request, read again: some changes of them make no uevent. */
void bus_facts_now(const struct entry *e, struct facts *ret);
/* Returns an error if this disk can never be on that driver. */
int bus_refuse_impossible(const struct entry *e, enum driver target, sd_bus_error *error);
/* Returns the error for a refusal of core/request.h; 0: not refused. */
int bus_refuse(const struct entry *e, const struct refusal *no, sd_bus_error *error);
/* Returns the error for a disk that is being switched. */
int bus_refuse_running(const struct entry *e, sd_bus_error *error);

/* policies.c */
int bus_method_set_policy(sd_bus_message *message, void *data, sd_bus_error *error);
int bus_method_list_policies(sd_bus_message *message, void *data, sd_bus_error *error);
int bus_method_set_policy_of(sd_bus_message *message, void *data, sd_bus_error *error);
int bus_method_forget_of(sd_bus_message *message, void *data, sd_bus_error *error);

/* pipes.c: requests that last as long as the caller has its end of a pipe */
int bus_method_inhibit(sd_bus_message *message, void *data, sd_bus_error *error);
int bus_method_lease(sd_bus_message *message, void *data, sd_bus_error *error);
int bus_get_inhibitors(sd_bus *bus, const char *path, const char *interface, const char *property, sd_bus_message *reply,
                       void *data, sd_bus_error *error);
/* Returns an error if the disk is leased to another caller, 1 if the caller is the holder, or 0 if it is not leased. */
int bus_leased(const struct entry *e, sd_bus_message *message, sd_bus_error *error);
