/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "common/util.h"
#include "core/trim.h"
#include "daemon/manager.h"

/* Each feature changes only its own fields of struct entry and struct manager. */

/* ---- boot-entry.c ---- */

/*
 * With BootEntry=auto, if UAS has failed with a disk: starts the unit that writes the boot entry.
 * It decides which disks need one. Called after a change of a record, when all disks have been read
 * and the machine has booted.
 */
void boot_entry_review(struct manager *m);

/* ---- inhibit.c ---- */

/* An inhibitor: no switch begins while it exists. */
struct inhibitor {
        TAILQ_ENTRY(inhibitor) link;
        struct manager *manager;
        char disk[INTERFACE_NAME_MAX]; /* by its port, for any disk there; "": all */
        char who[64], why[160];
        sd_event_source *end;
};
/* ret_fd: no switch begins while it or a copy is open. -EBUSY: there are too many inhibitors. */
int inhibit_add(struct manager *m, const char *disk, const char *who, const char *why, int *ret_fd);
/* Applies the inhibitors to a new disk. */
void inhibit_adopt(struct entry *e);

/* ---- keepoff.c ---- */

/* Called after a change of a policy, a history or a driver. If the entries change, all disks are
 * read again. */
void keepoff_schedule(struct manager *m);
/*
 * The same, at once. came: a disk without an entry yet, or NULL. Returns true if they have changed:
 * then all facts are from before the change.
 */
bool keepoff_review(struct manager *m, const struct facts *came);
/*
 * Remembers the policy of a disk that is plugged in. Only the disk itself shows it: the
 * configuration names no disk, and udev's rules only this one.
 */
void keepoff_see(struct entry *e, const struct facts *now);
/* Drops the remembered policy of a disk. id: VID:PID:SERIAL */
void keepoff_forget(struct manager *m, const char *id);

/* ---- lease.c ---- */

/* Reserves a disk for one program. Answers the call later. Returns 0 or -errno. */
int lease_new(struct entry *e, sd_bus_message *call);
/* For a new disk that an earlier uasd had leased. By its mark it goes back to `restore`, or was not
 * leased: DRIVER_NONE. */
void lease_adopt(struct entry *e, enum driver restore);
/* Returns true as long as the holder has it. The machine decides how it goes back. */
bool lease_held(const struct entry *e);
bool lease_is_of(const struct entry *e, sd_bus_message *message);
enum driver lease_restores(const struct entry *e);
/* Returns the child that has the claim; 0: none. */
pid_t lease_pid(const struct entry *e);
/* Returns true if the claim must be released first: then the switch begins later. */
bool lease_releases(struct entry *e, const struct action *a);
/* Called after every step of the machine. */
void lease_follow(struct entry *e);
/* Returns true if the request under the lease has ended, but the claim is not back yet. */
bool lease_returns(const struct entry *e);
/* Called when the disk was unplugged. */
void lease_gone(struct entry *e);
/* The record of the lease stays. */
void lease_free(struct entry *e);

/* ---- report.c ---- */

/* Write to the journal. */
void report_state(const struct entry *e, enum state before);
void report_unplugged(const struct entry *e, const char *step);
void report_hold(const struct entry *e);
void report_release(const struct entry *e);
void report_distrust(const struct entry *e, const char *reason);
void report_old_initramfs(const struct entry *e);
void report_trouble(const struct entry *e, const struct finding *f);
void report_diagnosis(const struct entry *e); /* it fails under usb-storage */
void report_cleared(const struct entry *e, const char *before);
void report_dropping(const struct entry *e, unsigned times);
void report_trial(const struct entry *e);
/* names: of its disks. Its entry may be gone. */
void report_ejected(const char *interface, const char *names, const char *usb_id, const char *text);
void report_trim(const struct entry *e, bool on, bool force);
void report_trim_of_another(const struct entry *e);

/* ---- requests.c ---- */

/* Requests of users. Return 0 or -errno; entry.request is the request of request_switch() then. */
int request_switch(struct entry *e, enum driver target, bool force);
/* These three answer the call when they are done, unless they return an error. e: NULL for a disk
 * `id` that is not plugged in. */
int request_policy(struct manager *m, struct entry *e, const char *id, enum policy p, bool force,
                   sd_bus_message *call);
int request_forget(struct manager *m, struct entry *e, const char *id, sd_bus_message *call);
/* -EOPNOTSUPP: none of its disks offers TRIM, or uasd has seen none under uas. ret_offer is written
 * in any case. */
int request_trim(struct entry *e, bool on, bool force, sd_bus_message *call,
                 enum trim_offer *ret_offer);
/*
 * Called when a disk has new block devices: reports, once for an attachment, a setting that is for
 * another medium. Notes what offers TRIM under uas.
 */
void request_trim_look(struct entry *e);
/* Cancels a waiting switch. -EBUSY: it is being switched. */
int request_cancel(struct entry *e);
int request_release(struct entry *e);
/* Called after every step of the machine: ends the request if it has finished. */
void request_settle(struct entry *e);
/* Records that it was cancelled, so that this outlives the process. */
void request_keep_cancelled(const struct entry *e);

/* ---- switches.c ---- */

/* The uasd-switch at work on a disk is a child of this process, of an earlier uasd, or of coldplug.
 */
/* ACTION_SWITCH. */
void switch_begin(struct entry *e, const struct action *a);
/* For a new disk: finds a uasd-switch that is still at work, or the record of a killed one. untold:
 * by its mark one has ended. */
void switch_adopt(struct entry *e, bool untold);
/* Returns true if a foreign uasd-switch is still at work; its end is posted. */
bool switch_foreign_runs(struct entry *e);
/* Starts uasd-switch --eject. Its end answers the call. Returns 0 or -errno. */
int switch_eject(struct entry *e, sd_bus_message *call);
/* Returns true until that end: one at a time, since a user may need no password for it. */
bool switch_ejects(const struct entry *e);
/* Called when the end of its switch is in the journal. */
void job_reported(struct entry *e);
/* The entry is freed, the child continues. */
void job_orphan(struct job *j);
/* Returns the last reported step; NULL: none. */
const char *job_step(const struct job *j);

/* ---- trouble.c ---- */

/* Signs of trouble in the kernel's log; trials. */
bool trouble_sign(struct manager *m, const struct sign *s, usec_t usec, bool live);
void trouble_begin(struct entry *e, enum driver d); /* a new account, for this driver */
void trouble_forget(struct entry *e); /* a user wants uas again: its trouble on usb-storage does not
                                         keep it there */
void trouble_switched(struct entry *e); /* a switch has ended, with or without success */
void trouble_judge(struct entry *e, struct facts *f);
void trouble_trial_over(struct entry *e);
void trouble_sleep(struct manager *m); /* the machine is about to sleep, or awake */
void trouble_adopt(struct entry *e);
void trouble_came(struct entry *e); /* called after it was announced */
void trouble_gone(struct entry *e);

/* ---- users.c ---- */

/* Searches by name for users of the disk, in a child, and posts EVENT_USERS. */
void use_probe_start(struct entry *e);
/* Updates the users of a disk, unless the search takes long. */
void users_cache_refresh(struct entry *e);
/* The entry is freed: its searches do not matter any more. */
void users_forget(struct entry *e);
