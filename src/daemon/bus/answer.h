/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

#include "common/util.h"

struct manager;

/* A call on the bus that is answered later, and its caller. The rest of uasd knows no message. */
struct bus_call;
struct bus_call *bus_call_ref(struct bus_call *c);
/* Accepts and returns NULL. */
struct bus_call *bus_call_unref(struct bus_call *c);

/* The answer: nothing, or a descriptor. */
void bus_call_return(struct bus_call *c);
int bus_call_return_fd(struct bus_call *c, int fd);
/* The same after the present posts, or at once if uasd ends. warning: NULL: the answer is nothing.
 * Otherwise it is a{sv}, with the member "warning" unless it is empty. */
void bus_call_return_later(struct manager *m, struct bus_call *c, const char *warning);
/* An error by its name, or by a negative errno. */
_printf_(3, 4) void bus_call_fail(struct bus_call *c, const char *error, const char *format, ...);
_printf_(3, 4) void bus_call_fail_errno(struct bus_call *c, int error, const char *format, ...);

/* The connection of a caller, and its process. As long as it is kept, its address is not reused. */
struct bus_peer;
typedef void (*bus_peer_fn)(void *data, pid_t pid);
/* Returns NULL without memory. */
struct bus_peer *bus_peer_new(struct bus_call *c);
/* Accepts NULL. */
void bus_peer_free(struct bus_peer *p);
bool bus_peer_makes(const struct bus_peer *p, struct bus_call *c);
/* Calls fn with the process at once, or when the bus has answered, or not at all. */
void bus_peer_ask_pid(struct bus_peer *p, bus_peer_fn fn, void *data);
