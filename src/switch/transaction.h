/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdatomic.h>
#include <systemd/sd-bus.h>

#include "common/exit-codes.h"
#include "common/util.h"
#include "core/config.h"
#include "core/history.h"
#include "sys/block/claim.h"
#include "sys/io/clock.h"
#include "sys/io/pid1.h"
#include "sys/udev/uevents.h"
#include "sys/usb/usbdisk.h"

/*
 * The transaction that moves one interface from one driver to the other. steps.c holds the list; each step
 * returns 0, 1 if there is nothing left to do, or a negative errno after having said why in `code` and `text` by tx_fail().
 * A step's undo runs if it or any step after it failed, the last one first, and cannot fail: it does what it can and
 * says what it could not.
 */
/* undo-claim.c: what the way back holds while it unbinds. */
struct undo_claim {
        bool active;          /* undo_claim_begin() has claimed what is in `disk`, and found no user */
        struct usb_disk disk; /* as it was then */
        struct undo_claim_child {
                pid_t pid; /* it has the claim of a LUN or hangs in the open; 0: none */
                int fd;    /* its end of the conversation */
                bool hangs;
        } * children;   /* one for each LUN */
        size_t readers; /* processes that have it open and do not count as users */
};

struct transaction {
        /* What was asked for */
        struct roots roots;
        struct config config;
        const char *interface;
        enum driver to;
        bool automatic;          /* nobody asked: one try an attachment, and claims go without force */
        bool plugged;            /* at plug-in or boot: afterwards it mounts as usual */
        bool machine;            /* the progress and the result go to uasd, as lines on stdout */
        bool no_udev;            /* udev waits for us: it tells nothing, and need not be told */
        usec_t hold_deadline;    /* CLOCK_BOOTTIME; 0: nobody waits for it to be released */
        struct awake hold_until; /* the same, for budgets */

        /* What was found */
        struct awake began;
        struct usb_disk disk; /* before */
        enum driver from;
        char serial[USB_STRING_MAX];
        size_t n_disks; /* LUNs that had a block device */

        /* What has been done */
        int lock;
        bool recorded; /* the record is written */
        struct claim claim;
        uint64_t written;               /* sectors that had reached the disk when the fingerprint was taken */
        char *fingerprint;              /* NULL: no disk was there yet, inside delay_use */
        bool lock_kept;                 /* by somebody who hangs with it: the quirks cannot be written */
        bool holding;                   /* the hold mark is ours */
        bool awaited;                   /* what appears waits in udev's helper until it has been decided on */
        struct awake unseen;            /* when nothing had appeared yet */
        struct awake bound_at;          /* when it had its new driver */
        char ahead[INTERFACE_NAME_MAX]; /* what the kernel was scanning already when this was bound; empty: nothing */
        struct awake behind;            /* when the kernel was last seen scanning `ahead`; 0: never */
        bool moved;                     /* LUNs deleted or driver unbound: undo has to attach */
        pid_t examiner;                 /* verify's child, which a sick disk may keep; 0: none */
        struct undo_claim undo;
        bool bound;     /* it has been bound to the new driver, or that was tried */
        bool failed;    /* and there it failed, which is the disk's fault */
        bool replugged; /* what is put in order is the switch of an earlier attachment */
        bool answered;  /* since it failed, its LUNs have appeared again: it was not unplugged */
        bool on_trial;  /* a trial is on record that was begun by this switch */
        bool had_past;  /* on_trial: `past` is what was on record before */
        struct history past;
        bool offline; /* the kernel has given up a LUN: nobody can claim or sync it, and nothing is left to be lost */
        bool excused; /* it is taken back, and not to blame: this machine was too slow, had no room, or was at another disk */
        bool kept;    /* somebody uses the disk on its new driver already: it stays */
        struct udev_monitor *events; /* the kernel's while udev's helper waits, else udev's */
        sd_bus *pid1;
        int pid1_error; /* 0: it can be asked; -ENOENT: it need not be asked, or there is none; else: it does not answer */
        bool pid1_asked;
        struct pid1_question stopping;
        usec_t armed; /* CLOCK_BOOTTIME in usec at which the dead man's timer was started; 0: it was not */

        /* How it ended */
        int code; /* enum uasd_exit */
        char step[24];
        char text[256];
};

/* transaction.c: sets how it ends, the first time; returns `error`. */
_printf_(4, 5) int tx_fail(struct transaction *t, int code, int error, const char *format, ...);

/* Whether the USB device at the port is the one that the switch began with. */
bool attachment_there(const struct transaction *t);
bool attachment_same(const struct transaction *t, const struct facts *f);
/*
 * Reads its LUNs anew. -ESTALE: there are other nodes or media than before, of which nobody knows yet who uses them. An open has
 * the kernel look at the medium, so what is read after our own is up to date.
 */
int look_for_media(struct transaction *t);

/* Runs all of it. Returns the code. */
int transaction_run(struct transaction *t);

/* Finishes or undoes what a killed uasd-switch left behind. Returns 0 also if there was nothing. */
int transaction_recover(struct transaction *t);

/* Has the claim, and does nothing, until stdin ends. again: who has it open without claiming it is no matter. Returns the code.
 */
int transaction_claim(struct transaction *t, bool again);

/* report.c: what uasd or the terminal gets */
void report_step(const struct transaction *t);
void report_user(const struct transaction *t, const struct user *u);
void report_claim(const struct transaction *t);
void report_end(const struct transaction *t);
/* The result as a line that uasd reads: "END code step text". */
#define END_LINE_MAX 320
void end_line(const struct transaction *t, char ret[static END_LINE_MAX]);

/* quiesce.c */
/* Names whoever uses the disk; 0 if nobody does. */
int look_for_users(struct transaction *t, bool deep);
/* Whom no list shows, but the driver counts; the claim has been prepared, and looked for by name in vain. */
int look_for_strangers(struct transaction *t);
int sync_nodes(struct transaction *t);
/* Until nobody did anything to the disk while we looked. */
int undisturbed(struct transaction *t);
int take_fingerprint(struct transaction *t);
/* Claims the disk: from here on it goes, or is let go at once. */
int close_door(struct transaction *t);

/* record.c */
int record_begin(struct transaction *t); /* -EALREADY: another uasd-switch holds the lock */
/* -ESTALE if others have removed or replaced the record since it was written first: the disk is theirs. */
int record_write(struct transaction *t, const char *step);
/* -ESTALE if the record or the attachment is no longer ours: a child that hung in the kernel and woke up late stops here. */
int record_check(struct transaction *t);
void record_end(struct transaction *t);
/* 1 and the fields of a record somebody left: from, to, step, disks, hold. 0: none. */
int record_load(struct transaction *t);

/* attach.c: what moves an interface, used by the steps and by their undo */
/* Quirks, bind, link checked, quirks in order again. */
int attach(struct transaction *t, enum driver d);
/* Sees to the entry of a bind that is in them still. */
void quirks_in_order(struct transaction *t);
/* Brings it to `from`, else to any driver, with its disks. */
void attach_back(struct transaction *t);

/* remove.c: the only file that writes `delete` and `unbind`. Both return -EBUSY if the rule there forbids it. */
/* Deletes the LUN `i` of the disk. dir: the interface's directory; begun: becomes i + 1 immediately before the write. */
#define NOT_CLAIMED "a block device is there, or may be, that is not claimed: did another program rescan the host?"
int lun_delete(const struct transaction *t, int dir, size_t i, atomic_size_t *begun);
int driver_unbind(struct transaction *t, enum driver d);

/* delete.c: closes the door and takes the LUNs away; from then on it has moved. */
int luns_delete(struct transaction *t);

/* appear.c */
/* As soon as it is bound: sets `ahead`. Of two that are bound one after the other, the second alone sees the other. */
void look_ahead(struct transaction *t);
/* Why it is not the disk's fault that it did not appear in time; NULL: it is. */
const char *why_late(const struct transaction *t);
/*
 * Until every LUN there was is back: announced by the kernel while udev's helper waits, else when udev is done with it.
 * idle: called again and again meanwhile, or NULL. Returns 0; -EINPROGRESS: they are back, and udev is not done; -ETIMEDOUT.
 */
int wait_for_disks(struct transaction *t, struct awake deadline, void (*idle)(struct transaction *t));
/* Until udev is done with what has appeared: its worker has the disk open, and with it its name, when it goes. */
void wait_for_udev(struct transaction *t, struct awake deadline);

/* hold.c */
/* PID 1 gets this long for an answer, usec: meanwhile the disk is locked, and udev cannot handle its events. */
#define PID1_USEC (2 * USEC_PER_SEC)
/* Starts the dead man's timer, while the disk still has its driver, if switch_hold_begin() will need it. -ETIMEDOUT: PID 1 does
 * not answer. */
int switch_hold_prepare(struct transaction *t);
/* Before the bind: nobody is to be told of the new disk before it has been tried. */
void switch_hold_begin(struct transaction *t);
/* Where that takes longer than udev's helper waits, it becomes a hold: dead man's timer, then mark. */
void switch_hold_if_long(struct transaction *t);
/* How long it still is until then, msec; -1: it will not be asked. */
int switch_hold_if_long_left(const struct transaction *t);
/* What was awaited came to nothing: udev is to go on, and the disk is held while it is brought back. */
void switch_hold_for_undo(struct transaction *t);
void switch_hold_end(struct transaction *t);

/* trial.c: the step before the disk is touched, its undo, and its end where the disk is off uas again */
int step_trial(struct transaction *t);
void undo_trial(struct transaction *t);
void trial_leave(struct transaction *t);

/* lun.c */
/* An attribute of a SCSI device, as a path below the interface: ret. */
const char *lun_attribute(const char *host, const struct lun *l, const char *name, char *ret, size_t size);
/* A LUN is offline (SCSI state): its node cannot be opened any more. */
bool lun_offline(const struct transaction *t, const char *host, const struct lun *l);
/* Whether `l` is one of `luns`, with the same block device. */
bool lun_among(const struct lun *l, const struct lun *luns, size_t n, size_t *ret_i);

/* claim-open.c */
/*
 * Opens what can be claimed, and knows what that is; sets `offline` if there is a LUN that cannot. As claim_prepare(); -EAGAIN: a
 * LUN, or every one, has no block device yet; -ESTALE: it is another thing every time.
 */
int claim_online(struct transaction *t, struct awake deadline, char ret_busy[static BLOCK_NAME_MAX]);

/* verify.c */
/* 0; -EBUSY: somebody uses the disk already; else what is wrong with it. In a child, since a sick disk hangs even open(2). */
int verify(struct transaction *t, struct awake deadline);

/* child.c */
/* In a child that may come to claim the disk: it dies with its parent, and has nothing of the switch but its own end of the pipe.
 */
void child_begin(struct transaction *t, pid_t parent, int other_end);
/* Until those that a killed uasd-switch has left are dead, and their claims gone. The record's lock has been taken. */
void children_end(const struct transaction *t);

/* signals.c */
#define ENDED_BY_SIGNAL "ended by a signal before the disk was touched"
/* Has SIGHUP, SIGINT and SIGTERM treated as below, and blocks them. Without it they do what they always do. */
void signals_begin(const struct transaction *t);
/* From here on a signal waits. */
void signals_block(void);
/* From here on a signal ends the process at once: t->step has not touched the disk. */
void signals_allow(const struct transaction *t);
/* Whether one waits: the switch is to end in seconds. Every wait for the disk takes at most HASTE_BUDGET from then on. */
#define HASTE_BUDGET (3 * USEC_PER_SEC)
bool signal_waits(void);

/* undo-claim.c */
/*
 * The way back takes a disk from its driver as the switch does, under a claim, and keeps it until undo_claim_end(). Children take
 * it, since the open of a sick disk may hang. Returns 0; -EBUSY: in use; other -errno: that cannot be known. On any error the
 * disk stays where it is. udev's workers and the switch's own examination only read it because it is new, so they do not count as
 * users. If they were waited for, they would keep the disk where it hangs.
 */
int undo_claim_begin(struct transaction *t);
/* Whether it has the claim of the block device that this LUN has now. */
bool undo_claim_has(const struct transaction *t, const struct lun *l);
/* unbound: waits until those readers have noticed, or the disk's names would not be free again. */
void undo_claim_end(struct transaction *t, bool unbound);
