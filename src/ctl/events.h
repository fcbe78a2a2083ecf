/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-id128.h>
#include <systemd/sd-journal.h>

#include "ctl/context.h"

/* The history of disks: endings that uasd wrote to the journal, and the records about them
 * (sys/state/history.h). */

enum event_value {
        EVENT_WORD,   /* a stable word, such as "switched", or the state of a record, such as
                         "distrusted" */
        EVENT_USB_ID, /* VID:PID:SERIAL */
        EVENT_INTERFACE,
        EVENT_PORT, /* only in records: "0000:00:14.0/ss/1" */
        EVENT_DISKS,
        EVENT_STATE,
        EVENT_FROM,
        EVENT_TO,
        EVENT_REASON,
        EVENT_STEP,
        EVENT_UID,
        EVENT_TEXT,
        _EVENT_VALUE_MAX,
};

struct log_entry {
        uint64_t usec; /* since 1970; 0: not known */
        bool record;
        char *values[_EVENT_VALUE_MAX]; /* NULL: does not apply */
};

/*
 * The names of a value in the journal, which lacks some, and in JSON. `before` stands in front of
 * it in a report, which leaves out values without it.
 */
extern const struct event_field {
        const char *journal, *json, *before;
} event_fields[_EVENT_VALUE_MAX];

struct events {
        struct log_entry *list;
        size_t n;
        bool journal; /* a journal is readable */
        struct sd_journal *open;
};

struct events_filter {
        struct events_disk *disks; /* NULL: every disk */
        size_t n_disks;
        uint64_t since_usec; /* since 1970 */
        size_t newest;       /* at most so many, for the journal, the newest first; 0: all */
        const char *boot;    /* only the boot with this id, for the journal; NULL: every boot */
};

/* Adds a disk to a filter, or, without facts, the VID:PID:SERIAL of one that is not plugged in. */
void events_filter_add(struct events_filter *f, const struct facts *disk, const char *id);
void events_filter_done(struct events_filter *f);

void events_done(struct events *e);
/*
 * Adds the matching entries, oldest first. root: the folder with the journal, like that of the
 * roots, or NULL for this machine. Returns 0, also without a journal, or -errno.
 */
int events_from_journal(const char *root, const struct events_filter *f, struct events *e);
int events_from_records(const struct roots *roots, const struct events_filter *f, struct events *e);
/* The kernel's newest messages of this boot about these disks: about their ports, and about each
 * SCSI host of usb-storage and uas. */
int events_from_kernel(const struct ctl *c, const struct views *v, struct events *e);
void events_sort(struct events *e);
/* Removes the entries for which `drop` returns true. It looks only at this entry and later ones. */
void events_drop(struct events *e, bool (*drop)(const struct events *e, size_t i));
/* After events_from_journal(): passes each further entry to `tell`, until the reader of stdout is
 * gone. 0 or -errno. */
int events_follow(struct events *e, const struct events_filter *f,
                  void (*tell)(const struct log_entry *e));

/* Writes " (alice)", the user who asked, or nothing, and returns it. uasd writes only the number: a
 * server of names may be far away. */
char *events_user(const struct log_entry *e, char *ret, size_t size);

/* For a report: prints the title and the newest lines, up to a limit. Nothing without any. */
void events_print(const char *title, const struct events *e);

/* The words of endings by index; NULL: after the last one. */
const char *events_word(size_t i);

/* Functions for all readers of the journal. */

/* root: the folder with the journal, like that of the roots, or NULL for this machine. An empty
 * journal opens as well. */
int journal_open(const char *root, sd_journal **ret);
void journal_closep(sd_journal **j);
/* The id of this boot, in the format of _BOOT_ID. */
int journal_boot(const struct roots *roots, char ret[static SD_ID128_STRING_MAX]);
