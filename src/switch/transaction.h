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
 * steps. A step returns 0, 1 if nothing is left to do, or -errno after tx_fail() has set the
 * result. If a step fails, its undo runs and those of all steps before it, the last one first. An
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

/*
 * The phase says what has been done to the disk. From PHASE_DETACHED on it has moved: undo brings
 * it back to a driver. From PHASE_TRIED on there was a trial under the new driver.
 */
enum phase {
        PHASE_HOME,     /* not moved, or undone before a bind was tried */
        PHASE_DETACHED, /* unbound before the kernel had looked at it: there was nothing to claim */
        PHASE_TAKEN,    /* LUNs deleted or driver unbound */
        PHASE_TRIED,    /* the bind to the new driver was tried */
        PHASE_KEPT,     /* a process uses it under the new driver already: it stays */
        PHASE_UNDONE,   /* the bind was tried, and undo has done what is possible */
};

/* The guilt says whose fault a failed step is. From GUILT_FAILED on, the record says that the disk
 * has failed. */
enum guilt {
        GUILT_NONE,      /* that of this program, a slow machine or another disk */
        GUILT_SUSPECTED, /* the step has seen the disk fail */
        GUILT_FAILED,    /* the disk is there, and has failed under the new driver */
        GUILT_ACQUITTED, /* its former driver cannot read it either, or this is not known */
};

struct transaction {
        struct roots roots;
        struct config config;
        const char *interface;
        enum driver from, to;
        struct {
                struct attachment_id meant; /* devnum 0: the one that is there */
                bool automatic; /* not a user's request: one try an attachment, and claims without
                                   force */
                bool plugged;   /* at plug-in or boot: afterwards it mounts as usual */
                bool machine;   /* the progress and the result go to uasd, as lines on stdout */
                bool no_udev; /* udev waits for this process: it sends no events, and needs none */
        } request;
        struct usb_disk disk; /* as tx_identify() read it; the LUNs as look_for_media() did */
        struct {
                struct awake began;
                usec_t asleep;     /* time that the machine had slept until then */
                size_t n_disks;    /* LUNs that had a block device */
                uint64_t written;  /* sectors that had reached the disk when the fingerprint was
                                      taken */
                char *fingerprint; /* NULL: no disk was there yet, inside delay_use */
        } before;

        /* The progress */
        enum phase phase;
        int lock;
        bool recorded;     /* the record is written, by this process or the killed one */
        pid_t recorded_by; /* the PID in it */
        bool quirks_hang;  /* another process hangs with the lock of the quirks: they cannot be
                              written */
        bool offline; /* the kernel has given up a LUN: it can be neither claimed nor synced, and
                         its unwritten data is lost */
        struct claim claim;
        struct undo_claim undo;
        struct udev_monitor *events; /* the kernel's while udev's helper waits, else udev's */
        struct {
                usec_t deadline;    /* CLOCK_BOOTTIME in usec; 0: no boot or user waits for the
                                       release */
                struct awake until; /* the same, for budgets */
                usec_t armed;       /* start of the dead man's timer, CLOCK_BOOTTIME in usec; 0: not
                                       started */
                bool ours;          /* the hold mark is ours */
                bool awaited; /* udev's helper waits with each new disk until the switch has decided
                               */
                struct awake unseen; /* the last time at which no disk was seen */
        } hold;
        struct {
                int error; /* 0: PID 1 can be asked. -ENOENT: no need to ask it, or there is none.
                              Else no answer */
                struct pid1_question stopping;
        } pid1;
        struct {
                struct awake since;             /* time of the bind to the new driver; 0: none */
                char ahead[INTERFACE_NAME_MAX]; /* interface that the kernel was already scanning at
                                                   our bind; empty: none */
                struct awake behind; /* when the kernel was last seen scanning `ahead`; 0: never */
        } scan;
        struct {
                pid_t pid;   /* child of verify(); 0: none */
                bool closed; /* it has closed the disk and is about to exit. Otherwise a sick disk
                                may keep it */
        } examiner;

        struct {
                enum guilt guilt;
                bool taken_off; /* it was bound there, and was on another driver or on none when it
                                   failed */
                bool answered;  /* its LUNs have appeared again since it failed, so it was not
                                   unplugged */
                struct unread unread; /* the reads that failed there; empty: none */
                int log;              /* the kernel's log from the trial on; -1: it is not read */
        } blame;
        struct {
                enum {
                        TRIAL_NONE,
                        TRIAL_FIRST, /* this switch has begun it, and there was no record */
                        TRIAL_AGAIN, /* this switch has begun it, and `past` is the record before */
                } begun;
                struct history past;
        } trial;
        struct {
                int code; /* enum uasd_exit */
                char step[24];
                char text[512]; /* a sentence in parts */
        } result;
};

/* An empty one owns nothing. */
#define TRANSACTION_NULL                                                                           \
        ((struct transaction){                                                                     \
                .roots = ROOTS_NULL, .lock = -1, .claim = CLAIM_NULL, .blame.log = -1})

static inline bool tx_moved(const struct transaction *t)
{
        return t->phase >= PHASE_DETACHED && t->phase < PHASE_UNDONE;
}

static inline bool tx_tried(const struct transaction *t)
{
        return t->phase >= PHASE_TRIED;
}

static inline bool tx_failed(const struct transaction *t)
{
        return t->blame.guilt >= GUILT_FAILED;
}

/* Called by each step that tries the new driver. On the way back the verdict stands. */
static inline void tx_suspect(struct transaction *t, bool disk)
{
        if (!tx_failed(t))
                t->blame.guilt = disk ? GUILT_SUSPECTED : GUILT_NONE;
}

static inline bool unread_any(const struct unread *u)
{
        return u->samples || u->n > 0;
}

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
