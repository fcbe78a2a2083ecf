/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/quirk-words.h"
#include "ctl/context.h"
#include "ctl/events.h"

/* Parts of `report`. */

/* Prints what this machine knows about the bridge of a disk, as a contribution. Reports errors. Returns an enum uasd_exit. */
int report_hwdb(const struct ctl *c, const struct view *v);

/* The kernel's messages of this boot about USB disks: about their ports, and about each SCSI host of usb-storage and uas. */

#define KERNEL_LINES_MAX 100 /* the newest */

struct kernel_line {
        uint64_t usec; /* since 1970 */
        char *text;    /* as in the journal */
};

struct kernel_log {
        struct kernel_line lines[KERNEL_LINES_MAX];
        size_t n;
};

/* 0, also without a journal; -errno. */
int kernel_log_read(const struct ctl *c, const struct views *v, struct kernel_log *ret);
void kernel_log_done(struct kernel_log *l);

#define REDACTED "(redacted)"

/*
 * report --redact: removes private data before anything is printed. Serial numbers are replaced by numbers, so that equal ones
 * remain equal.
 */
void redact_all(struct views *views, struct events *events, struct kernel_log *kernel);
/* Removes names of files that the administrator made. Those from packages stay. */
void redact_quirks(struct quirk_facts *q);
