/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "common/util.h"
#include "core/facts.h"
#include "sys/io/clock.h"
#include "sys/io/roots.h"

/*
 * What is remembered in /run/uasd until the next boot, each a small file written atomically, mode 0644 in
 * directories 0755 of root. Shared by the daemon, uasd-switch and the udev helper; no file is followed
 * through a symlink.
 */

/* hold/INTERFACE: its block devices are held. */
struct hold_mark {
        unsigned busnum, devnum; /* the attachment it is for: stale with any other */
        usec_t deadline;         /* CLOCK_BOOTTIME usec; past it the mark holds nothing */
};

/* No hold is longer. A deadline further off is of another boot, where /run outlived it. */
#define HOLD_MAX_USEC (300 * USEC_PER_SEC)

int hold_write(const struct roots *r, const char *interface, const struct hold_mark *m);
/* 1 and the mark; 0: none; -errno. Whether it is still good is for hold_in_force(). */
int hold_read(const struct roots *r, const char *interface, struct hold_mark *ret);
int hold_remove(const struct roots *r, const char *interface);

/*
 * attachment/INTERFACE@BUS-DEV: what was done to this plugged-in device; it goes when the device goes. The initramfs has its own,
 * in early/: it may be older than the record. A disk that it moved is fresh in the root file system, so uasd may hold and move it
 * there.
 */
struct attachment_mark {
        bool tried;                  /* one automatic switch was begun */
        bool released;               /* its hold was ended: it is never held again */
        bool no_auto;                /* no desktop mounts it by itself (UDISKS_AUTO=0) */
        bool cancelled;              /* a user said no to what it waited for */
        enum driver override_target; /* uasctl switch */
        bool override_forced;
        bool untold; /* uasd has begun a switch, and the journal does not have its end yet: a uasd that is killed finds it here */
        enum driver lease; /* it is leased, and goes back to this driver; DRIVER_NONE: it is not */
};

/* Which attachment is at this interface now; -ENOENT if there is none. */
int attachment_now(const struct roots *r, const char *interface, unsigned *ret_busnum, unsigned *ret_devnum);
/* The file of one in `dir`, of which attachments_prune() has to know. */
char *attachment_path(const char *dir, const struct facts *f, char *ret, size_t size);
int attachment_read(const struct roots *r, const struct facts *f, struct attachment_mark *ret);
/* Neither tried, released nor cancelled on this attachment; false also if that cannot be told. */
bool attachment_fresh(const struct roots *r, const struct facts *f);
/*
 * Changes some fields of the mark under a lock, so that no other program's change to another field is lost. Waits at most a
 * second for the lock and then does without it: a process that was stopped while it had the lock must not stop the others. 0 or
 * -errno.
 */
enum attachment_field {
        MARK_TRIED = 1 << 0,
        MARK_RELEASED = 1 << 1,
        MARK_NO_AUTO = 1 << 2,
        MARK_CANCELLED = 1 << 3,
        MARK_OVERRIDE = 1 << 4, /* the target and whether it was forced */
        MARK_UNTOLD = 1 << 5,
        MARK_LEASE = 1 << 6,
        MARK_ALL = (1 << 7) - 1,
};
int attachment_change(const struct roots *r, const struct facts *f, unsigned fields, const struct attachment_mark *to);
/* A request for `target` ends; one for another driver stays. */
int attachment_drop_override(const struct roots *r, const struct facts *f, enum driver target);

/* Drops the marks, the holds and the kept strings of attachments which are no longer plugged in. */
int attachments_prune(const struct roots *r);

/* True if the interface has a hold mark for this attachment, with time left, and was not released. */
bool hold_in_force(const struct roots *r, const struct facts *f, usec_t now, usec_t *ret_deadline);

/* Marks the attachment as released and removes the hold. Triggering `add` is the caller's (sys/udev/trigger.h). */
int hold_release(const struct roots *r, const struct facts *f);
