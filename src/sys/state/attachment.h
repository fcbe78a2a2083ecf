/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "common/util.h"
#include "core/facts.h"
#include "sys/io/roots.h"

/*
 * The state in /run/uasd until the next boot. Each file is small and written atomically, mode 0644
 * in directories 0755 of root. The daemon, uasd-switch and the udev helper share them; no symlink
 * is followed.
 */

/* hold/INTERFACE: the block devices of the interface are held. */
struct hold_mark {
        struct attachment_id attachment; /* stale with any other */
        usec_t deadline; /* CLOCK_BOOTTIME in usec; after it the mark holds nothing */
};

/* No hold is longer. A later deadline is of another boot, if /run survived that. */
#define HOLD_MAX_USEC (300 * USEC_PER_SEC)

int hold_write(const struct roots *roots, const char *interface, const struct hold_mark *m);
/* Returns 1 and the mark, 0 if there is none, or -errno. hold_in_force() checks whether it is still
 * valid. */
int hold_read(const struct roots *roots, const char *interface, struct hold_mark *ret);
int hold_remove(const struct roots *roots, const char *interface);

/* attachment/INTERFACE@BUS-DEV-INODE: marks of one attachment, removed when the device has gone. */
struct attachment_mark {
        bool tried;                  /* an automatic switch has begun */
        enum driver switched_to;     /* target of the last switch; DRIVER_NONE: none, or by an older
                                        uasd-switch */
        bool released;               /* its hold has ended: it is never held again */
        bool no_auto;                /* no desktop mounts it automatically (UDISKS_AUTO=0) */
        bool cancelled;              /* a user cancelled the waiting switch */
        enum driver override_target; /* of uasctl switch */
        bool override_forced;
        bool untold; /* uasd has begun a switch, and its end is not in the journal yet. uasd reads
                        this after it was killed */
        char trouble[176]; /* its failure under usb-storage, "CAUSE WHAT" (sys/facts.c); empty: none
                            */
        enum driver lease; /* driver after the lease; DRIVER_NONE: not leased */
        unsigned told;     /* events that the hooks have got, bits of enum hook_event */
        char taken_by[32]; /* the hook that unmounts it, and mounts it again; empty: none */
        /*
         * A switch was tried in the initramfs. The programs there read only this mark, and change
         * no other. They may be older than the record. A disk that it moved is fresh in the root
         * file system, so uasd may hold and move it there.
         */
        bool early;
};

/* Reads which attachment is at this interface now; -ENOENT if there is none. */
int attachment_now(const struct roots *roots, const char *interface, struct attachment_id *ret);
int attachment_read(const struct roots *roots, const struct facts *f, struct attachment_mark *ret);
/*
 * Returns true if it was neither tried, released nor cancelled on this attachment; in the
 * initramfs: if it has no mark of the initramfs. False also if that is unknown.
 */
bool attachment_fresh(const struct roots *roots, const struct facts *f);
/*
 * Changes some fields of the mark (in the initramfs: sets `early`) under a lock, so that the
 * changes of other programs to other fields are not lost. Waits at most a second for the lock and
 * then works without it: a process that was stopped while it had the lock must not stop the others.
 * Returns 0 or -errno.
 */
enum attachment_field {
        MARK_TRIED = 1 << 0,
        MARK_RELEASED = 1 << 1,
        MARK_NO_AUTO = 1 << 2,
        MARK_CANCELLED = 1 << 3,
        MARK_OVERRIDE = 1 << 4, /* the target and whether it is forced */
        MARK_UNTOLD = 1 << 5,
        MARK_LEASE = 1 << 6,
        MARK_SWITCHED = 1 << 7,
        MARK_TROUBLE = 1 << 8,
        MARK_TAKEN = 1 << 9,
        MARK_TOLD = 1 << 10,
        MARK_ALL = (1 << 11) - 1,
};
int attachment_change(const struct roots *roots, const struct facts *f, unsigned fields,
                      const struct attachment_mark *to);
/* Copies these fields. Returns true if one of them has changed. */
bool attachment_mark_take(struct attachment_mark *m, unsigned fields,
                          const struct attachment_mark *to);
/* Ends the override if it is for `target`; one for the other driver stays. */
int attachment_drop_override(const struct roots *roots, const struct facts *f, enum driver target);

/* Writes the argument by which uasd-switch ends if another device is at the port by the time at
 * which it looks. Returns ret. */
#define ATTACHMENT_ARG_MAX (ATTACHMENT_ID_MAX + 16)
const char *attachment_arg(const struct facts *f, char ret[static ATTACHMENT_ARG_MAX]);

/* Removes the marks, holds and kept strings of attachments that are no longer plugged in; port:
 * "2-1", or NULL for all ports. */
int attachments_prune(const struct roots *roots, const char *port);

/* Returns true if the interface has a hold mark for this attachment, with time left, and was not
 * released. */
bool hold_in_force(const struct roots *roots, const struct facts *f, usec_t now,
                   usec_t *ret_deadline);

/* Marks the attachment as released and removes the hold. -errno: it is still held. Otherwise the
 * caller has to trigger `add` (sys/udev/udevdb.h). */
int hold_release(const struct roots *roots, const struct facts *f);
