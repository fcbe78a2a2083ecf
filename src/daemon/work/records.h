/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/history.h"
#include "daemon/bus/answer.h"
#include "daemon/manager.h"
#include "sys/state/store.h"
#include "sys/state/trims.h"

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
        struct bus_call *call;           /* call to be answered then, or NULL */
};
/* Adds a copy; manager, entry and facts are filled in. Returns 0, or -errno and writes nothing. */
int record_add(struct manager *m, struct entry *e, const struct record_task *template);
void record_forget_entry(struct entry *e);
/* Returns true if a history of this disk is being written. */
bool record_pending(const struct manager *m, const struct facts *f);
/* As history_read() and history_recall(), with all unwritten records. */
int record_read(const struct manager *m, const struct facts *f, struct history *ret);
void record_judge(const struct manager *m, struct facts *f);
/* As facts_complete() and facts_complete_hwdb(): before udev has a record, the hwdb is asked. */
void record_complete(const struct entry *e, struct facts *f);
/* Waits some seconds for unwritten records. */
void record_stop(struct manager *m);
