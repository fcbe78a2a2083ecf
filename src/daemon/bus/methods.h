/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/refusal.h"
#include "daemon/manager.h"

/* The objects on a connection. org.uasd1.xml is the contract. */

#define MAY_SWITCH "org.uasd1.switch"
#define MAY_POLICY "org.uasd1.policy"
#define MAY_FORCE "org.uasd1.force"

/* methods.c: org.uasd1.Manager; its data is the manager. */
extern const sd_bus_vtable bus_manager_vtable[];
/* objects.c: org.uasd1.Disk */
int bus_disks_add(sd_bus *bus, struct manager *m);
int bus_method_list_disks(sd_bus_message *message, void *data, sd_bus_error *error);
/* jobs.c: org.uasd1.Job */
int bus_jobs_add(sd_bus *bus, struct manager *m);

/* arguments.c */
/* The disk a method is about: its first argument. */
int bus_read_disk(sd_bus_message *message, struct manager *m, struct entry **ret, sd_bus_error *error);
/* a{sv}: the option force; any other is an error. */
int bus_read_options(sd_bus_message *message, bool *ret_force, sd_bus_error *error);
/* A disk, a word and options. */
int bus_read_wish(sd_bus_message *message, struct manager *m, struct entry **ret, const char **ret_word, bool *ret_force,
                  sd_bus_error *error);
/* The facts by which a request is judged: a write to the quirks parameter, or to the files of uasd, makes no uevent. */
void bus_facts_now(const struct entry *e, struct facts *ret);
/* An error if this disk can never be on that driver. */
int bus_refuse_impossible(const struct entry *e, enum driver target, sd_bus_error *error);
/* The error for what core/refusal.h refuses; 0 if it does not. */
int bus_refuse(const struct entry *e, const struct refusal *no, sd_bus_error *error);
/* The error where a switch is under way. */
int bus_refuse_running(const struct entry *e, sd_bus_error *error);

/* policies.c */
int bus_method_set_policy(sd_bus_message *message, void *data, sd_bus_error *error);
int bus_method_list_policies(sd_bus_message *message, void *data, sd_bus_error *error);
int bus_method_set_policy_of(sd_bus_message *message, void *data, sd_bus_error *error);
int bus_method_forget_of(sd_bus_message *message, void *data, sd_bus_error *error);

/* pipes.c: what lasts as long as a caller has one end of a pipe */
int bus_method_inhibit(sd_bus_message *message, void *data, sd_bus_error *error);
int bus_method_lease(sd_bus_message *message, void *data, sd_bus_error *error);
int bus_get_inhibitors(sd_bus *bus, const char *path, const char *interface, const char *property, sd_bus_message *reply,
                       void *data, sd_bus_error *error);
/* A leased disk: an error for all but the holder. 1: the caller is the holder; 0: it is not leased. */
int bus_leased(const struct entry *e, sd_bus_message *message, sd_bus_error *error);
