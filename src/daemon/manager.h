/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "core/config.h"
#include "core/drops.h"
#include "core/history.h"
#include "core/keepoff.h"
#include "core/machine.h"
#include "core/trim.h"
#include "core/trouble.h"
#include "sys/io/roots.h"
#include "sys/state/trims.h"

/*
 * The one choke point: whatever happens becomes an event of one disk's machine here, and whatever the machine
 * wants done is done from here. Sources (scan.c, watch.c, jobs.c, bus.c) call manager_*() and nothing of each other.
 */

struct manager;
struct job;
struct look;
struct lease;
struct inhibitor;
struct post;
struct boot;
struct sleep;
struct record;
struct worker;
struct naming;
struct walk;

/* What a user asked for, as org.uasd1.Job has it. */
struct asked {
        enum driver from, to; /* to: DRIVER_NONE: what its policy says */
        char step[24];        /* the switch is at, or ended in */
        int code;             /* an exit status; -1: not ended */
        const char *told;     /* the last state that was */
};

struct entry {
        struct manager *manager;
        struct life life;
        sd_event_source *timer;
        struct job *job;         /* the uasd-switch at work, if it is our child */
        struct look *look;       /* the look by name under way */
        struct lease *lease;     /* somebody has it for himself, or it goes back after that */
        uint64_t unbound_since;  /* 0: it has a driver */
        sd_event_source *unbound_timer;
        sd_event_source *foreign_timer; /* a uasd-switch that is not our child is at work: is it still? */
        bool foreign_gone; /* it began with an earlier attachment at this port */
        int *watches;            /* inotify watch descriptors */
        size_t n_watches;
        bool nodes_watched;      /* each node it has: a close of any will be told */
        bool closed;             /* a node of it was closed, and nobody has looked yet */
        unsigned request;        /* number of the request under way, for the bus; 0: none */
        struct asked asked;      /* what it is */
        enum driver overridden;  /* the override that the request took the place of */
        bool overridden_forced;
        sd_event_source *request_source; /* it has still to be told to the machine */
        struct event lease_request;      /* as this, under a lease */
        bool announced;          /* on the bus */
        struct trouble trouble;  /* what the kernel said of it, on this attachment */
        bool troubled;           /* and what that came to has been acted upon */
        struct history unkept;   /* what should be on record, and could not be written */
        bool has_unkept;
        uint64_t users_at;       /* when its users were last looked up by name */
};

struct manager {
        int lock; /* held for life: one uasd a machine */
        sd_event *event;
        const char *root; /* NULL: this machine */
        struct roots roots;
        struct config config;
        struct environment env;
        struct entry **entries;
        size_t n_entries;
        unsigned last_request;
        struct scan *scan;
        struct watch *watch;
        struct kmsg_watch *kmsg;
        struct bus *bus;
        struct drops drops; /* the ports where disks come and go by themselves */
        struct question *questions; /* polkit's, open */
        struct post *posts;         /* queue.c: not carried out yet, the oldest first */
        sd_event_source *drain;     /* carries them out */
        bool draining;
        bool missed;                /* there was no memory for a post */
        struct record *records;     /* records.c: not written yet, the oldest first */
        struct worker *recorder;    /* writes the first of them */
        struct walk *walk;          /* who.c: under way */
        bool walks_long;            /* the last one took long */
        struct naming *namings;     /* strings.c: devices whose strings are being read */
        struct inhibitor *inhibitors;
        struct boot *boot; /* NULL: it is over */
        struct sleep *sleep;
        bool keepoff_due;
        bool looked; /* at all that is plugged in: what is wanted of it is known */
        struct kept_disks seen;         /* what was wanted of the disks that were here since it began: they may come back */
        sd_event_source *keepoff_timer; /* it could not be done: tried again, */
        uint64_t keepoff_pause;         /* after this long; 0: it was done */
        sd_bus *keepoff_pid1;           /* it is being asked for usb_storage */
        char left_out[512]; /* the disks told last for whom the quirks have no room */
};

/* root: the folder the machine is in; NULL: this machine. */
int manager_new(const char *root, struct manager **ret);
/* Takes stock of what is plugged in and what an earlier uasd left, and listens from then on. */
int manager_start(struct manager *m);
/* Begins nothing more; what runs is finished by uasd-switch itself. */
void manager_stop(struct manager *m);
void manager_free(struct manager *m);

/*
 * watchdog.c: sd_event_loop() under PID 1's watchdog. sd_event_set_watchdog() would wake up for ever to say that nothing hangs; this
 * switches the watchdog off while uasd is at rest. Returns 0 after sd_event_exit(), or -errno.
 */
int watchdog_loop(sd_event *event);

/* Once: from now on disks that are not held may be claimed. */
void manager_booted(struct manager *m);

/* Whatever waits is to see what `env` says now. */
void manager_environment_changed(struct manager *m);

/* sleep.c: whether logind is sending the machine to sleep */
/* A new connection to the system bus. */
int sleep_watch(struct manager *m, sd_bus *bus);
void sleep_free(struct sleep *s);

/* boot.c: calls manager_booted(), at once or later */
int boot_await(struct manager *m);
void boot_free(struct boot *b);

/* entries.c: the disks that are there */
struct entry *manager_find(struct manager *m, const char *interface);
struct entry *entry_new(struct manager *m);
/* Reports the unplugged disk to all who wait for it, and frees its entry. Only manager_drain() comes here. */
void entry_gone(struct entry *e);
void entries_free(struct manager *m);

/*
 * queue.c: posts are carried out in the order in which they were made, as soon as the callback that made them has returned. Entries are
 * freed there alone: no other code has to expect that an entry goes while it uses it.
 */
typedef void (*call_fn)(struct manager *m);
typedef void (*feed_fn)(struct entry *e, const struct event *event);
int queue_new(struct manager *m);
void queue_free(struct manager *m);
/* Drops the posts of an entry that goes. */
void queue_forget(struct entry *e);
/* Reads the interface again: new, changed or gone. */
void manager_post_rescan(struct manager *m, const char *interface);
void manager_post_call(struct manager *m, call_fn call);
/* Calls feed, manager_feed() for one, unless the entry has been freed by then. */
void manager_post(struct entry *e, feed_fn feed, const struct event *event);
/* Answers a call that returns nothing. For a method handler to return. */
int manager_post_answer(struct manager *m, sd_bus_message *call);
/* Carries out all posts. The caller uses no entry. */
void manager_drain(struct manager *m);
/* A call is about this interface: reads it again, before the method looks its entry up. */
void manager_rescan_now(struct manager *m, const char *interface);

/* For manager_drain() alone, as these may remove entries; all others post them. */
void manager_rescan(struct manager *m, const char *interface);
void manager_rescan_all(struct manager *m);
/* Events were lost: the same, and who uses what waits. */
void manager_look_at_all(struct manager *m);

void manager_feed(struct entry *e, const struct event *event);
/* ACTION_SWITCH. */
void manager_switch(struct entry *e, const struct action *a);
/* Somebody may have let go of it, or taken it. */
void manager_look(struct entry *e);
/* An answer to that: EVENT_USERS. */
void manager_seen(struct entry *e, const struct event *users);
/* What may end a use of any disk has happened: a block device that is stacked on others came, changed or went. */
void manager_look_at_waiting(struct manager *m);
/* Requests of users. 0 or -errno; ret_request: the number JobRemoved will tell. */
int manager_request(struct entry *e, enum driver target, bool force, unsigned *ret_request);
/* Puts the override of before the request back. */
void request_undo(struct entry *e);
/* These three answer the call when it is done, unless they return an error. */
int manager_set_policy(struct entry *e, enum policy p, bool force, sd_bus_message *call);
/* -EOPNOTSUPP: none of its disks offers it, or none that shows; ret_offer is written in any case. */
int manager_set_trim(struct entry *e, bool on, bool force, sd_bus_message *call, enum trim_offer *ret_offer);
int manager_forget(struct entry *e, sd_bus_message *call);
/* What waits. -EBUSY: it is being switched. */
int manager_cancel(struct entry *e);
/* Whether somebody has said no outlives this process. */
void keep_cancelled(const struct entry *e);
int manager_release(struct entry *e);

/* scan.c: events of the kernel and of udev */
int scan_start(struct manager *m);
void scan_free(struct scan *s);
/* Waits for a uasd-switch that is not our child, of an earlier uasd or of coldplug; false if there is none. */
bool scan_adopt_running(struct entry *e, bool *ret_stale);
/* What an earlier uasd left: a uasd-switch still at work, or the record of one that was killed. */
void scan_adopt(struct entry *e);

/* watch.c: who lets go of a disk, told without polling */
int watch_new(struct manager *m, struct watch **ret);
void watch_free(struct watch *w);
void watch_add(struct watch *w, struct entry *e);
void watch_remove(struct watch *w, struct entry *e);
/* Its nodes are others than before. */
void watch_nodes(struct watch *w, struct entry *e);
/* Something that may end a use has happened. */
void watch_changed(struct watch *w);
/* What may end a use was lost, perhaps. */
void watch_lost(struct watch *w);
/* The inotify for users_told(), which listens while a disk waits; -errno. */
int watch_ends(struct watch *w);

/* look.c: who uses a disk, by name, in a child */
void look_by_name(struct entry *e);
/* The entry goes, and the look with it. */
void look_orphan(struct look *l);

/* kmsg.c: what the kernel says, while a disk is on uas */
int kmsg_new(struct manager *m, struct kmsg_watch **ret);
void kmsg_free(struct kmsg_watch *w);
void kmsg_arm(struct kmsg_watch *w);   /* disks came, went, or changed their driver */
void kmsg_keep(struct kmsg_watch *w);  /* the accounts are others */
void kmsg_drain(struct kmsg_watch *w); /* what has been said up to now is weighed before anything changes */

/* trouble.c: what that comes to; trials */
bool trouble_sign(struct manager *m, const struct sign *s, uint64_t usec, bool live);
void trouble_begin(struct entry *e); /* it goes to uas: a new account */
void trouble_switched(struct entry *e); /* a switch has ended, well or not */
void trouble_judge(struct entry *e, struct facts *f);
void trouble_trial_over(struct entry *e);
void trouble_adopt(struct entry *e);
void trouble_came(struct entry *e); /* and is known to everybody by now */
void trouble_gone(struct entry *e);
void trouble_stop(struct manager *m);

/*
 * keepoff.c: entries in the quirks parameter for disks that are wanted on usb-storage, so that they never start on uas. Looked at
 * when keepoff_due is set, by whatever changes policy or history, and again by itself where a bind is at work, or usb_storage has to be
 * loaded first. True: they have changed, and facts are those of before.
 */
bool keepoff_review(struct manager *m);
/* A post: the same, and all disks are read again if the quirks have changed. */
void keepoff_look(struct manager *m);
/* What is wanted of it: what the configuration says of all disks, and udev's rules of this one, is known of those that are here alone. */
void keepoff_see(struct entry *e, const struct facts *now);
/* Another disk has its name: only their ports tell them apart. */
bool manager_has_twin(const struct entry *e);

/* worker.c: a child that does one thing, and answers */
typedef void (*worker_fn)(const struct roots *r, void *data, int out); /* in the child */
typedef void (*worker_done_fn)(void *data, const void *answer, size_t size); /* all that it wrote; the worker is gone after it */
int worker_start(struct manager *m, worker_fn work, worker_done_fn done, void *data, struct worker **ret);
/* Kills it, and done is not called any more. */
void worker_orphan(struct worker *w);
/* Waits without the event loop. Returns false if the answer is not complete at the deadline (CLOCK_MONOTONIC). */
bool worker_wait(struct worker *w, uint64_t deadline);

/* strings.c: what a device calls itself; a child reads it, since the kernel has the device locked while it configures it */
/* True: f has them. False: they are being read, and the interface is posted when they are there. */
bool strings_known(struct manager *m, struct facts *f);
/* The interface is gone. */
void strings_drop(struct manager *m, const char *interface);
/* Waits for all that are being read, one second at most. */
void strings_wait(struct manager *m);
void strings_free(struct manager *m);

/* records.c: histories, policies and TRIM are written durably by a child, one after the other */
enum record_type {
        RECORD_HISTORY,
        RECORD_END_TRIAL,
        RECORD_END_TRIALS, /* of all disks */
        RECORD_FORGET,
        RECORD_FORGET_ID, /* of a disk that is not plugged in */
        RECORD_POLICY,
        RECORD_POLICY_ID,
        RECORD_TRIM,
};
/* e: NULL if its disk is gone. r: 0 or -errno. */
typedef void (*record_fn)(struct manager *m, struct entry *e, const struct record *rec, int r);
struct record {
        struct record *next;
        struct manager *manager;
        struct entry *entry; /* NULL: its disk is gone, or it is about no disk */
        enum record_type type;
        struct facts facts;
        char id[HISTORY_KEY_MAX]; /* of a disk that is not plugged in */
        struct history history;
        enum policy policy;
        bool port, force; /* as kept_store() has it */
        struct trim_lun luns[TRIM_LUNS_MAX];
        size_t n_luns;
        record_fn done;       /* or NULL */
        sd_bus_message *call; /* whose answer is due then, or NULL */
};
/* Copies it; manager, entry and facts are filled in. Returns 0, or -errno and nothing is written. */
int record_add(struct manager *m, struct entry *e, const struct record *template);
void record_forget_entry(struct entry *e);
/* A history of this disk is being written. */
bool record_pending(const struct manager *m, const struct facts *f);
/* As past_read() and past_judge(), with all that is not written yet. */
int record_read(const struct manager *m, const struct facts *f, struct history *ret);
void record_judge(const struct manager *m, struct facts *f);
/* Waits some seconds for what is not written yet. */
void record_stop(struct manager *m);

/* inhibit.c: whose work is not to be disturbed */
struct inhibitor {
        struct inhibitor *next;
        struct manager *manager;
        char disk[INTERFACE_NAME_MAX]; /* by its port, whatever is plugged in there; "": any */
        char *who, *why;
        sd_event_source *end;
        int fd;
};
/* ret_fd: while it or a copy is open nothing begins. -EBUSY: there are too many. */
int inhibit_add(struct manager *m, const char *disk, const char *who, const char *why, int *ret_fd);
/* A disk that has just appeared. */
void inhibit_apply(struct entry *e);
void inhibit_free(struct manager *m);

/* lease.c: who has a disk for himself */
/* Answers the call, later. 0 or -errno. */
int lease_new(struct entry *e, sd_bus_message *call);
/* An earlier uasd had given it to somebody: it goes back. */
void lease_adopt(struct entry *e);
/* True as long as its holder has it; how it goes back is the machine's affair. */
bool lease_held(const struct entry *e);
bool lease_is_of(const struct entry *e, sd_bus_message *message);
enum driver lease_restores(const struct entry *e);
/* Our own child that has its claim; 0: none. */
pid_t lease_pid(const struct entry *e);
/* True if our claim has to be let go first: the switch begins when it is. */
bool lease_lets_go(struct entry *e, const struct action *a);
/* After every step of the machine. */
void lease_settle(struct entry *e);
/* What was asked for under it has ended, and the claim is not back yet. */
bool lease_returns(const struct entry *e);
/* It was unplugged. */
void lease_gone(struct entry *e);
/* Whatever is on record of it stays. */
void lease_free(struct entry *e);

/* claimer.c: a child that has the claim */
struct claimer;
enum claim_news {
        CLAIM_KEPT,
        CLAIM_ENDED, /* it has gone: with why, or because it was stopped */
};
typedef void (*claim_fn)(struct entry *e, enum claim_news news, const struct outcome *o);
/* again: who has it open without claiming it is no matter. */
int claimer_start(struct entry *e, bool again, claim_fn tell, struct claimer **ret);
pid_t claimer_pid(const struct claimer *c);
void claimer_stop(struct claimer *c);
/* Stops it, and hears no more of it. */
void claimer_orphan(struct claimer *c);

/* spawn.c: uasd-switch, with what it writes; ret_in: and with a pipe as its stdin, or NULL */
int spawn_switch(char *const argv[], int *ret_in, int *ret_out, pid_t *ret_pid);
struct switch_output {
        int fd;
        char line[512];
        size_t used;
        struct outcome outcome; /* the owner sets its code to -1; its end is put in here */
};
/* Takes what it has written by now; each line but its end goes to take(), and none after that. */
void switch_output_read(struct switch_output *o, void (*take)(const char *line, void *data), void *data);

/* jobs.c: uasd-switch as a child */
int job_start(struct entry *e, const struct action *a);
int job_recover(struct entry *e);
/* The entry goes, the child goes on. */
void job_orphan(struct job *j);
/* The step it is at, as far as it has said so; NULL: there is none. */
const char *job_step(const struct job *j);
/* The end of its switch is in the journal. */
void job_told(struct entry *e);
/* True if a uasd-switch that is not our child holds the lock of this interface; false and ret_stale if it left a record. */
bool job_foreign(struct manager *m, const char *interface, bool *ret_stale);

/* report.c */
void report_state(const struct entry *e, enum state before);
void report_unplugged(const struct entry *e, const char *step);
void report_hold(const struct entry *e);
void report_release(const struct entry *e);
void report_distrust(const struct entry *e, const char *reason);
void report_old_initramfs(const struct entry *e);
void report_trouble(const struct entry *e, const struct finding *f);
void report_dropping(const struct entry *e, unsigned times);
void report_trial(const struct entry *e);
void report_trim(const struct entry *e, bool on, bool force);

/* bus.c, bus-jobs.c */
int bus_new(struct manager *m, struct bus **ret);
void bus_free(struct bus *b);
void bus_disk_added(struct bus *b, struct entry *e);
void bus_disk_removed(struct bus *b, struct entry *e);
void bus_disk_changed(struct bus *b, struct entry *e);
void bus_inhibitors_changed(struct bus *b);
/* The request of an entry, its number set: it is one; it may have another state; its switch is at this step; it has ended. */
void bus_request_added(struct bus *b, struct entry *e, enum driver target);
void bus_request_changed(struct bus *b, struct entry *e);
void bus_request_step(struct bus *b, struct entry *e, const char *step);
void bus_request_done(struct bus *b, struct entry *e, int code, const char *step, const char *text);

/* who.c: makes sure that the users of a disk are those of now, unless it takes long to find them. */
void who_uses(struct entry *e);
void who_forget(struct entry *e);
