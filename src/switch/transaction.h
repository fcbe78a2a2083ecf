/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "common/exit-codes.h"
#include "common/util.h"
#include "core/config.h"
#include "core/history.h"
#include "sys/block/claim.h"
#include "sys/io/ask-pid1.h"
#include "sys/io/clock.h"
#include "sys/udev/uevents.h"
#include "sys/usb/usbdisk.h"

/*
 * The transaction that moves one interface from one driver to the other. steps.c has the list of
 * steps. A step returns 0, 1 if nothing is left to do, or -errno after tx_fail() has set `code` and
 * `text`. If a step fails, its undo runs and those of all steps before it, the last one first. An
 * undo cannot fail: it does what is possible and reports the rest.
 */
/* undo-claim.c: the claim during an unbind on the way back. */
struct undo_claim {
        bool active;          /* undo_claim_begin() has claimed `disk` and found no user */
        struct usb_disk disk; /* as undo_claim_begin() read it */
        struct undo_claim_child {
                pid_t pid;  /* has the claim of a LUN, or hangs in the open; 0: none */
                int fd;     /* socket to the child */
                bool syncs; /* its sync has begun and not ended */
                bool hangs; /* the open or the sync takes long */
        } * children;       /* one for each LUN */
        size_t readers; /* number of processes that have the disk open and do not count as users */
};

struct transaction {
        /* The request */
        struct roots roots;
        struct config config;
        const char *interface;
        struct attachment_id meant; /* devnum 0: the one that is there */
        enum driver to;
        bool automatic; /* not a user's request: one try an attachment, and claims without force */
        bool plugged;   /* at plug-in or boot: afterwards it mounts as usual */
        bool machine;   /* the progress and the result go to uasd, as lines on stdout */
        bool no_udev;   /* udev waits for this process: it sends no events, and needs none */
        usec_t hold_deadline; /* CLOCK_BOOTTIME in usec; 0: no boot or user waits for the release */
        struct awake hold_until; /* the same, for budgets */

        /* The disk before the switch */
        struct awake began;
        usec_t asleep;        /* time that the machine had slept until then */
        struct usb_disk disk; /* as tx_identify() read it */
        enum driver from;
        size_t n_disks; /* LUNs that had a block device */

        /* The progress */
        int lock;
        bool recorded; /* the record is written */
        struct claim claim;
        uint64_t written;  /* sectors that had reached the disk when the fingerprint was taken */
        char *fingerprint; /* NULL: no disk was there yet, inside delay_use */
        bool lock_kept; /* another process hangs while it has the lock: the quirks cannot be written
                         */
        bool holding;   /* the hold mark is ours */
        bool awaited;   /* udev's helper waits with each new disk until the switch has decided */
        struct awake unseen;            /* the last time at which no disk was seen */
        struct awake bound_at;          /* time of the bind to the new driver */
        char ahead[INTERFACE_NAME_MAX]; /* interface that the kernel was already scanning at our
                                           bind; empty: none */
        struct awake behind; /* when the kernel was last seen scanning `ahead`; 0: never */
        bool moved;          /* LUNs deleted or driver unbound: undo has to attach */
        bool detached; /* unbound before the kernel had looked at the disk: there was nothing to
                          claim */
        struct {
                pid_t pid;   /* child of verify(); 0: none */
                bool closed; /* it has closed the disk and is about to exit. Otherwise a sick disk
                                may keep it */
        } examiner;
        struct undo_claim undo;
        bool bound;           /* the bind to the new driver was tried */
        bool failed;          /* the disk failed there, and is to blame */
        struct unread unread; /* the reads that failed there; valid if has_unread */
        bool has_unread;
        bool acquitted; /* its former driver cannot read them either, or this is not known */
        int log;        /* the kernel's log from the trial on; -1: it is not read */
        bool taken_off; /* it was bound there, and was on another driver or on none when it failed
                         */
        bool replugged; /* recovery: the switch was of an earlier attachment */
        bool answered;  /* its LUNs have appeared again since it failed, so it was not unplugged */
        bool on_trial;  /* this switch has begun the trial on record */
        bool had_past;  /* on_trial: `past` is the record before */
        struct history past;
        bool offline;  /* the kernel has given up a LUN: it can be neither claimed nor synced, and
                          its unwritten data is lost */
        bool to_blame; /* the step that failed has seen the disk fail: not this program, a slow
                          machine or another disk */
        bool kept;     /* a process uses the disk on its new driver already: it stays */
        struct udev_monitor *events; /* the kernel's while udev's helper waits, else udev's */
        int pid1_error; /* 0: PID 1 can be asked. -ENOENT: no need to ask it, or there is none. Else
                           no answer */
        struct pid1_question stopping;
        usec_t armed; /* start of the dead man's timer, CLOCK_BOOTTIME in usec; 0: not started */

        /* The result */
        int code; /* enum uasd_exit */
        char step[24];
        char text[256];
};

/* transaction.c: sets the result unless it is set already. Returns `error`. */
_printf_(4, 5) int tx_fail(struct transaction *t, int code, int error, const char *format, ...);

/* Returns true for an error of this machine: memory, files, rights, a module that was unloaded. No
 * disk is to blame for it. */
bool error_is_ours(int error);

/* Reads the disk: `disk`, `from` and `n_disks`. strings: reads its names, too. */
int tx_identify(struct transaction *t, bool strings);
/* Returns true if the USB device at the port is the one that the switch began with. */
bool attachment_there(const struct transaction *t);
bool attachment_same(const struct transaction *t, const struct facts *f);
/*
 * Reads the LUNs again. -ESTALE: there are new nodes or media, and their users are not known yet.
 * An open makes the kernel check the medium, so the LUNs are up to date after our own open.
 */
int look_for_media(struct transaction *t);

/* Writes the path of a SCSI device's attribute to `ret`, relative to the interface. Returns `ret`.
 */
const char *lun_attribute(const char *host, const struct lun *l, const char *name, char *ret,
                          size_t size);
/* Returns true if a LUN is offline (SCSI state): its node cannot be opened any more. */
bool lun_offline(const struct transaction *t, const char *host, const struct lun *l);
/* Returns true if `l` is one of `luns`, with the same block device. */
bool lun_among(const struct lun *l, const struct lun *luns, size_t n, size_t *ret_i);

/* A disk that was unplugged is neither moved nor to blame, at any step. Sets the result, and
 * removes its marks. */
void settle_unplugged(struct transaction *t);
