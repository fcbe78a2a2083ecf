/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/facts.h"
#include "sys/io/clock.h"
#include "sys/io/roots.h"

/*
 * A disk that uasd-switch has just moved is nobody's before it has been tried. Its first event waits in the udev helper
 * until then: what is decided at once needs no hold, and no second event that ends one.
 */

/* How long the helper waits at most; less than udev's rule gives it. */
#define AWAIT_USEC (7 * USEC_PER_SEC)

/* Below roots.run: what a switch of it writes down of itself, and the lock that its uasd-switch has for life. Both return RET. */
char *switch_record_path(const char *interface, char *ret, size_t size);
char *switch_lock_path(const char *interface, char *ret, size_t size);
/*
 * The lock file has two locks, each on a byte of its own: that of uasd-switch, and one that its children share, since a child may
 * hang and outlive it. They belong to the open file (F_OFD_SETLK), and whether one is held can be asked without taking it: nobody
 * who only looks keeps a uasd-switch from beginning.
 */
enum switch_lock {
        SWITCH_LOCK,
        SWITCH_LOCK_CHILDREN,
};
/* Returns 0; -EAGAIN: another open file has it; or another -errno. */
int switch_lock_take(int fd, enum switch_lock which);
/* By another open file than `fd`. In doubt it is. */
bool switch_lock_held(int fd, enum switch_lock which);

/* Whether there is a record: of a switch at work, or of one that was killed. */
bool switch_recorded(const struct roots *r, const char *interface);

/* Whether there is a record of a switch of an earlier attachment at the port of `f`. */
bool switch_of_another(const struct roots *r, const struct facts *f);

/* Whether a uasd-switch that lives is at work on it. */
bool switch_at_work(const struct roots *r, const char *interface);
/* Whether a living uasd-switch says that what it moved is about to be decided on. */
bool switch_awaited(const struct roots *r, const char *interface);

/* Until that is over: 0, or -ETIMEDOUT. */
int switch_await(const struct roots *r, const char *interface, struct awake deadline);
