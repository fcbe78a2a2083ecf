/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdatomic.h>

#include "common/exit-codes.h"
#include "common/gettext.h"
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

/* Runs all steps. Returns the code. */
int transaction_run(struct transaction *t);

/* Finishes or undoes a switch that was killed. Returns 0 also if there was none. */
int transaction_recover(struct transaction *t);

/* Claims the disk until stdin ends. again: opens without a claim do not matter. Returns the code.
 */
int transaction_claim(struct transaction *t, bool again);

/* eject.c: stops the disk and removes its USB device, if no process uses it. Returns the code. */
int transaction_eject(struct transaction *t);

/* steps.c, for both */
/* Finishes a switch that was killed. */
void finish_earlier(struct transaction *t);
/* A disk that was unplugged is neither moved nor to blame, at any step. Sets the result, and
 * removes its marks. */
void settle_unplugged(struct transaction *t);
/* Finds users; opens, locks and watches the nodes. */
int step_claim(struct transaction *t);
int step_sync(struct transaction *t);

/* detach.c */
/* Returns 0 if the disk may lose its driver or its LUNs now: no signal waits, and the hold lasts
 * long enough. */
int may_begin(struct transaction *t);
/* Writes the record before the disk is touched: the process that finishes this switch brings it
 * back. */
int will_move(struct transaction *t);
/* From here on the events of new disks are kept. */
void listen_for_disks(struct transaction *t);
/* As soon as uas is loaded, it takes a disk without a driver. So the trial of such a disk is on
 * record before. */
int before_uas_comes(struct transaction *t);
int step_detach(struct transaction *t);
/* Returns true after step_detach(), as long as no driver has the disk: no program knows of this
 * switch. */
bool is_unknown_yet(const struct transaction *t);

/* report.c: output for uasd or the terminal */
void report_step(const struct transaction *t);
void report_user(const struct transaction *t, const struct user *u);
void report_claim(const struct transaction *t);
void report_end(const struct transaction *t);
/* The result as a line that uasd reads: "END code step text". */
#define END_LINE_MAX 320
void end_line(const struct transaction *t, char ret[static END_LINE_MAX]);

/* quiesce.c */
/* Reports the users of the disk. Returns 0 if there are none. */
int look_for_users(struct transaction *t, bool deep);
/* Reports the node that another process has claimed. Returns -EBUSY. */
int refuse_claimed(struct transaction *t, const char *node);
/* Counts the users that exempt() accepts. Returns 0, -EBUSY if there are others, or -errno if the
 * users are unknown. */
int count_exempt(const struct transaction *t, const struct usb_disk *d,
                 bool (*exempt)(const struct transaction *t, const struct user *u), size_t *ret);
/* Fails if the driver counts an open that no list shows. Called after claim_prepare() and a search
 * by name without a result. */
int look_for_strangers(struct transaction *t);
int sync_nodes(struct transaction *t);
/* Repeats search and sync until no process has touched the disk meanwhile. */
int undisturbed(struct transaction *t);
int take_fingerprint(struct transaction *t);
/* Claims the disk. After success it is deleted, or the claim is released at once. */
int close_door(struct transaction *t);

/* record.c */
int record_begin(struct transaction *t); /* -EALREADY: another uasd-switch holds the lock */
/* -ESTALE: another process has removed or replaced the record since it was first written, and the
 * disk belongs to it. */
int record_write(struct transaction *t, const char *step);
/* -ESTALE: the record or the attachment is no longer ours. A child that hung in the kernel and woke
 * up late stops here. */
int record_check(struct transaction *t);
void record_end(struct transaction *t);
/* Returns 1 and the fields of a record that a killed process left, or 0 if there is none. */
int record_load(struct transaction *t);

/* attach.c: moves an interface, for the steps and their undo */
/* Adds the quirks, binds, checks the link, removes the quirks. */
int attach(struct transaction *t, enum driver d);
/*
 * Returns true if the new driver is registered: it has been offered every interface without a
 * driver, and its module is not being unloaded. The kernel makes this file after the one, and
 * removes it before the other (drivers/base/bus.c:bus_add_driver).
 */
bool driver_registered(const struct transaction *t);
/* Removes the entry that a bind has left in the quirks. */
void quirks_in_order(struct transaction *t);
/* Brings it to `from`, else to any driver, with its disks. */
void attach_back(struct transaction *t);

/* remove.c: the only file that writes `delete`, `unbind` and `remove`. All return -EBUSY if the
 * rule there forbids it. */
/* Deletes the LUN `i` of the disk. dir: the interface's directory; begun: becomes i + 1 immediately
 * before the write. */
#define NOT_CLAIMED                                                                                \
        N_("a block device is there, or may be, that is not claimed: did another program rescan the host?")
int lun_delete(const struct transaction *t, int dir, size_t i, atomic_size_t *begun);
int driver_unbind(struct transaction *t, enum driver d);
/* Removes the USB device: the kernel disables its port until the disk is plugged in again. */
int device_remove(struct transaction *t);
/* The rule is not about these: */
/* Opens the directory of the interface, if it is still that of the same attachment. Returns a
 * descriptor or -errno. */
int interface_open(struct transaction *t);
int driver_bind(struct transaction *t, enum driver d);

/* delete.c: claims the disk and deletes its LUNs. From then on `moved` is true. */
int luns_delete(struct transaction *t);

/* appear.c */
/* Called immediately after the bind: sets `ahead`. Of two interfaces, only the one that is bound
 * later sees the other. */
void look_ahead(struct transaction *t);
/* The reason why a late disk is not to blame; NULL: it is to blame. */
const char *why_late(const struct transaction *t);
/* Returns the time for which this driver shows no disk after the bind. */
usec_t scan_delay(const struct transaction *t, enum driver d);
/*
 * Waits until all former LUNs are back. While udev's helper waits, a LUN is back when the kernel
 * has announced it, otherwise when udev has processed it. idle: called repeatedly meanwhile, or
 * NULL. Returns 0, -EINPROGRESS if they are back but udev has not finished, or -ETIMEDOUT.
 */
int wait_for_disks(struct transaction *t, struct awake deadline,
                   void (*idle)(struct transaction *t));
/* Waits until udev has processed the new disks. Its worker has the disk open, which keeps the name
 * of a removed disk. */
void wait_for_udev(struct transaction *t, struct awake deadline);

/* hold.c */
/* The latest start of the undo that ends before the hold does. */
struct awake undo_deadline(const struct transaction *t);
/* The end of a budget, or the latest start of the undo if that is earlier. */
struct awake step_deadline(const struct transaction *t, usec_t budget);
/* Time that PID 1 has for an answer, usec. Meanwhile the disk is locked, and udev cannot process
 * its events. */
#define PID1_USEC (2 * USEC_PER_SEC)
/* for a disk without a driver, which no program has seen */
#define PID1_LONG_USEC (5 * USEC_PER_SEC)
/* Starts the dead man's timer before the disk loses its driver, if a hold will need it. -ETIMEDOUT:
 * PID 1 does not answer. */
int switch_hold_prepare(struct transaction *t);
/* The record that is written next says that udev's helper is to wait with each new disk. */
void switch_hold_await(struct transaction *t);
/* Called before the bind: udev must not announce the new disk before it has been tried. */
void switch_hold_begin(struct transaction *t);
/* If the switch takes longer than udev's helper waits, a hold begins: first the dead man's timer,
 * then the mark. */
void switch_hold_if_long(struct transaction *t);
/* Time until then, msec; -1: no hold will begin. */
int switch_hold_if_long_left(const struct transaction *t);
/* udev continues. known: it may know the disk, which is held while it is brought back. */
void switch_hold_for_undo(struct transaction *t, bool known);
void switch_hold_end(struct transaction *t);

/* trial.c: the step before the disk is touched, its undo, and the end of a trial when the disk is
 * off uas again */
int step_trial(struct transaction *t);
void undo_trial(struct transaction *t);
void trial_leave(struct transaction *t);

/* excuse.c */
/* Called before the disk is moved: sets `log`. */
void log_remember(struct transaction *t);
/* Returns what has happened to the machine during this switch, so that a failure says nothing about
 * the disk; NULL: nothing. */
const char *machine_excuses(const struct transaction *t);

/* claim-open.c */
/*
 * Opens the nodes that can be claimed, and reads their LUNs. Sets `offline` if a LUN cannot be
 * opened. Returns 0, the errors of claim_prepare(), -EAGAIN if a LUN, or each, has no block device
 * yet, or -ESTALE if the LUNs keep changing.
 */
int claim_online(struct transaction *t, struct awake deadline,
                 char ret_busy[static BLOCK_NAME_MAX]);

/* verify.c */
/*
 * Returns 0, -EBUSY if a process uses the disk already, or another -errno: the fault of the disk. A
 * child does it, since a sick disk hangs even open(2).
 */
int verify(struct transaction *t, struct awake deadline);
/* Waits for the exit of a child that has closed the disk. */
void verify_end(struct transaction *t);
/* Opens the present disks in a child, and watches them. Returns 0, -ENODEV if the attachment has
 * ended, or another -errno. */
int examiner_open(struct transaction *t, struct claim *c, struct usb_disk *ret);
/* Called by that child after its answer: closes the disk, says so, and ends. */
__attribute__((noreturn)) void examiner_end(struct claim *c, int out);

/* reread.c: after a roll-back to usb-storage, reads there what could not be read under uas. Sets
 * `acquitted` and the text. */
void reread(struct transaction *t);

/* child.c */
/* Called in a child that may claim the disk. The child dies with its parent, and keeps only its end
 * of the pipe. */
void child_begin(struct transaction *t, pid_t parent, int other_end);
/* Waits until the children of a killed uasd-switch are dead and their claims gone. The caller has
 * the lock of the record. */
void children_end(const struct transaction *t);
/* Waits for a word of a child, for a shorter time if a signal waits. */
bool child_answers(int fd, struct awake deadline);

/* signals.c */
#define ENDED_BY_SIGNAL N_("ended by a signal before the disk was touched")
/* Sets up and blocks SIGHUP, SIGINT and SIGTERM. Without this call they have their usual effect. */
void signals_begin(const struct transaction *t);
/* From here on signals wait. */
void signals_block(void);
/* From here on a signal ends the process at once: t->step has not touched the disk. */
void signals_allow(const struct transaction *t);
/* Returns true if a signal waits: the switch must end in seconds. From then on each wait takes at
 * most HASTE_BUDGET. */
#define HASTE_BUDGET (3 * USEC_PER_SEC)
bool signal_waits(void);

/* undo-claim.c */
/*
 * Claims a disk on the way back, before it is unbound, and keeps the claim until undo_claim_end().
 * Children claim it, since the open of a sick disk may hang. Returns 0, -EBUSY if it is in use, or
 * another -errno if that is unknown. On any error the disk stays on its driver. udev's workers and
 * the switch's own examination do not count as users: they only read the disk because it is new.
 * Waiting for them would keep the disk where it hangs.
 */
int undo_claim_begin(struct transaction *t);
/* Returns true if the block device that this LUN has now is claimed. */
bool undo_claim_has(const struct transaction *t, const struct lun *l);
/* unbound: waits until those readers have closed the disk. Otherwise its names would not be free
 * again. */
void undo_claim_end(struct transaction *t, bool unbound);
