/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/names.h"
#include "common/util.h"
#include "core/facts.h"
#include "sys/block/unread.h"
#include "sys/io/clock.h"
#include "sys/io/roots.h"

/*
 * A disk that uasd-switch has just moved must not be used before it has been tried. Its first event
 * waits in the udev helper until then. So a quick decision needs neither a hold nor a second event
 * that ends it.
 */

/* Time that the helper waits at most; shorter than the limit in udev's rule. */
#define AWAIT_USEC (7 * USEC_PER_SEC)

/*
 * The progress of a switch, for the process that has to finish it. The record of a killed
 * uasd-switch stays until a recovery. It is replaced as a whole, so the lock is on another file.
 */
struct switch_record {
        pid_t pid; /* of the uasd-switch; 0: unknown */
        struct attachment_id attachment;
        enum driver from, to;
        char step[24];
        size_t n_disks; /* LUNs that had a block device */
        bool moved, failed, holding,
                awaited;              /* of struct transaction: tx_moved(), tx_failed(), `hold` */
        char unread[UNREAD_TEXT_MAX]; /* the same as text; empty: none */
};
/* Returns 1, 0 if there is no record, or -errno. */
int switch_record_read(const struct roots *roots, const char *interface, struct switch_record *ret);
int switch_record_write(const struct roots *roots, const char *interface,
                        const struct switch_record *record);
int switch_record_remove(const struct roots *roots, const char *interface);

/* Paths below roots.run: the record of a switch, and the lock that its uasd-switch keeps for life.
 */
#define SWITCH_RECORD_PATH(interface) path_join(RUN_SWITCH "/", interface)
#define SWITCH_LOCK_PATH(interface) path_join(RUN_SWITCH "/", interface, ".lock")
/*
 * The lock file has two locks, each on a byte: one of uasd-switch, and one that its children share,
 * since a child may hang and outlive it. Both belong to the open file (F_OFD_SETLK). A process can
 * check them without taking them, so a check never keeps a uasd-switch from beginning.
 */
enum switch_lock {
        SWITCH_LOCK,
        SWITCH_LOCK_CHILDREN,
};
/* Returns 0, -EAGAIN if another open file has it, or another -errno. */
int switch_lock_take(int fd, enum switch_lock which);
/* Returns true if another open file than `fd` has it, or if that is unknown. */
bool switch_lock_held(int fd, enum switch_lock which);

/* Returns true if there is a record: of a switch at work, or of a killed one. */
bool switch_recorded(const struct roots *roots, const char *interface);

/* Returns true if a switch of an earlier attachment at the port of `f` has left a record. */
bool switch_of_another(const struct roots *roots, const struct facts *f);

/* Returns true if a living uasd-switch is at work on it. */
bool switch_at_work(const struct roots *roots, const char *interface);
/* Returns true if the record of a living uasd-switch says that its decision is near. */
bool switch_awaited(const struct roots *roots, const char *interface);

/* Waits until that is over. Returns 0 or -ETIMEDOUT. */
int switch_await(const struct roots *roots, const char *interface, struct awake deadline);
