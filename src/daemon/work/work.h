/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

#include "core/history.h"
#include "daemon/manager.h"
#include "sys/state/settings.h"
#include "sys/state/store.h"

/* ---- child.c ---- */

/* A child of uasd. The event loop reads its output and reaps it. It frees itself after `ended`. */
struct child;
struct child_end {
        const void *answer; /* the whole output of a task */
        size_t size;
        const struct outcome *outcome; /* of uasd-switch; code -1: it reported no end */
        bool exited;                   /* false: a signal ended it */
        int status;                    /* exit status or signal */
};
typedef void (*child_end_fn)(void *data, const struct child_end *end);

/* A fork that does one task, and writes its answer into `out`. keep_fd: another descriptor that it
 * needs, or -1. */
typedef void (*child_task_fn)(const struct roots *roots, void *data, int out);
int child_run(struct manager *m, child_task_fn task, child_end_fn ended, void *data, int keep_fd,
              struct child **ret);

/*
 * uasd-switch --machine with these arguments. It writes its steps to stdout, and at the end "END
 * code step text". line: gets each line before the end, with the outcome as known so far. NULL:
 * only the end matters.
 */
typedef void (*child_line_fn)(void *data, const char *line, const struct outcome *so_far);
int child_switch(struct manager *m, const char *const *args, child_line_fn line, child_end_fn ended,
                 void *data);
/* The same for one that keeps a claim. It has a stdin, which child_stop() closes, as does the end
 * of this process. */
int child_claim(struct manager *m, const char *const *args, child_line_fn line, child_end_fn ended,
                void *data, struct child **ret);

/*
 * The start of a process takes longer than all that a switch does until it has the disk. So while
 * it is wanted, one uasd-switch waits on standby, and child_switch() gives it the arguments.
 * Without it child_switch() starts another one. A standby is started when it becomes wanted: one
 * that dies, as by the OOM killer, is not replaced before the next switch has ended.
 */
void child_standby(struct manager *m, bool wanted);
/* Ends it, and waits for that: nothing of the unit is left behind. */
void child_standby_end(struct manager *m);

/* Returns its process; 0 for NULL. */
pid_t child_pid(const struct child *c);
/* Kills it. It may hang in the kernel, and is reaped later. */
void child_stop(struct child *c);
/* The same, and no function is called any more. Accepts NULL. */
void child_orphan(struct child *c);
/* Waits for a task without the event loop. Returns false if it has not ended at the deadline
 * (CLOCK_MONOTONIC). */
bool child_wait(struct child *c, usec_t deadline);

/* ---- records.c ---- */

/* A child writes histories, policies and TRIM durably, one by one. */
enum record_type {
        RECORD_HISTORY,
        RECORD_END_TRIAL,
        RECORD_FORGET,
        RECORD_POLICY,
        RECORD_TRIM,
};
struct record_task;
/* e: NULL if its disk has gone. r: 0 or -errno. */
typedef void (*record_fn)(struct manager *m, struct entry *e, const struct record_task *rec, int r);
struct record_task {
        struct record_task *next;
        struct manager *manager;
        struct entry *entry; /* NULL: its disk has gone, or it is about no disk */
        enum record_type type;
        struct facts facts;
        char id[HISTORY_KEY_MAX]; /* of a disk that is not plugged in; else empty */
        struct history history;
        enum policy policy;
        bool port, force; /* as in policy_store() */
        struct trim_lun luns[TRIM_LUNS_MAX];
        size_t n_luns;
        char warning[STORE_WARNING_MAX]; /* a copy could not be written; empty: both are */
        record_fn done;                  /* or NULL */
        sd_bus_message *call;            /* call to be answered then, or NULL */
};
/* Adds a copy; manager, entry and facts are filled in. Returns 0, or -errno and writes nothing. */
int record_add(struct manager *m, struct entry *e, const struct record_task *template);
void record_forget_entry(struct entry *e);
/* Returns true if a history of this disk is being written. */
bool record_pending(const struct manager *m, const struct facts *f);
/* As history_read() and history_recall(), with all unwritten records. */
int record_read(const struct manager *m, const struct facts *f, struct history *ret);
void record_judge(const struct manager *m, struct facts *f);
/* Waits some seconds for unwritten records. */
void record_stop(struct manager *m);

/* ---- strings.c ---- */

/* A child reads the strings of a device, since the kernel has it locked while it configures it.
 * Returns true if f has them. Otherwise they are being read, and the interface is posted when they
 * are there. */
bool strings_known(struct manager *m, struct facts *f);
/* The interface has gone. */
void strings_drop(struct manager *m, const char *interface);
/* Waits for all strings that are being read, at most one second. */
void strings_wait(struct manager *m);
