/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/request.h"
#include "daemon/manager.h"

/* The objects on a connection. org.uasd1.xml defines the interface. */

#define MAY_SWITCH "org.uasd1.switch"

/* methods.c: org.uasd1.Manager; its data is the manager. */
extern const sd_bus_vtable bus_manager_vtable[];
/* objects.c: org.uasd1.Disk, org.uasd1.Job */
int bus_objects_add(sd_bus *bus, struct manager *m);
int bus_method_list_disks(sd_bus_message *message, void *data, sd_bus_error *error);
/* policies.c */
int bus_method_list_policies(sd_bus_message *message, void *data, sd_bus_error *error);

/* A call of a method that needs a permission. */
struct call {
        struct manager *manager;
        sd_bus_message *message;
        sd_bus_error *error;
        const char *words[3]; /* the strings among its arguments */
        bool force;           /* its option */
        struct entry *entry;  /* its disk; NULL: all disks, or one that is not plugged in */
        int value;            /* meaning of a word: a driver, a policy, or on */
        bool authorized;      /* polkit need not be asked */
};

/* These return 0, or a negative errno with the error set. */
/* policies.c: finds the disk "VID:PID:SERIAL", which need not be plugged in; checks a policy */
int bus_find_id(struct call *c);
int bus_check_policy(struct call *c);
/* pipes.c: methods that last as long as the caller has its end of a pipe */
int bus_check_lease(struct call *c);
int bus_lease(struct call *c);
int bus_inhibit(struct call *c);
int bus_get_inhibitors(sd_bus *bus, const char *path, const char *interface, const char *property, sd_bus_message *reply,
                       void *data, sd_bus_error *error);

/* refusals.c */
/* Returns 1 if the caller has the lease of the disk; refuses if another one has it. */
int bus_leased(const struct call *c);
int bus_refuse_stopping(const struct call *c);
/* A disk that is about to be mounted has no user yet. */
int bus_refuse_starting(const struct call *c);
/* Refuses if the disk can never be on that driver. */
int bus_refuse_impossible(const struct call *c, enum driver target);
/* Refuses for a reason of core/request.h. */
int bus_refuse(const struct call *c, const struct refusal *no);
/* Refuses, since the disk is being switched. */
int bus_refuse_running(const struct entry *e, sd_bus_error *error);
/* Returns the facts that decide a request, read again: some changes of them make no uevent. */
void bus_facts_now(const struct entry *e, struct facts *ret);

/* polkit.c */
/*
 * Permissions on the system bus. Root may call everything, also without polkit. For other callers polkit decides, and may ask for
 * a password. Nothing here waits.
 */
typedef int (*method_fn)(sd_bus_message *message, void *data, sd_bus_error *error);

/*
 * A method calls this before it changes anything. e: its disk, which polkit's message names, or NULL for any. Returns 1 if the
 * method may go on, or -errno with error set if it is refused. Returns 0 while polkit is being asked: then the method must return
 * 1 to sd-bus. It is called again with the answer.
 */
int polkit_may(struct manager *m, sd_bus_message *message, const char *action, const struct entry *e, method_fn method,
               sd_bus_error *error);

/* Drops open questions without an answer: their connection is closed. */
void polkit_forget(struct manager *m);
