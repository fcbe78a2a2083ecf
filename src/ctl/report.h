/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/quirk-words.h"
#include "ctl/context.h"
#include "ctl/events.h"

/* Parts of `report`. */

/* Of the machine: versions, and what people have set. daemon: it answers. */
void report_machine(const struct ctl *c, bool daemon);
/* What this machine has found out about the bridge of a disk, to be contributed. Reports errors; returns an enum uasd_exit. */
int report_hwdb(const struct ctl *c, const struct view *v);

/* What the kernel said in this boot of USB disks: of the ports they are at now, and of each SCSI host of usb-storage and uas. */

#define KERNEL_LINES_MAX 100 /* the newest */

struct kernel_line {
        uint64_t usec; /* since 1970 */
        char *text;    /* as it is in the journal */
};

struct kernel_log {
        struct kernel_line lines[KERNEL_LINES_MAX];
        size_t n;
};

/* 0, also without a journal; -errno. */
int kernel_log_read(const struct ctl *c, const struct views *v, struct kernel_log *ret);
void kernel_log_print(const struct kernel_log *l);
void kernel_log_done(struct kernel_log *l);

#define REDACTED "(redacted)"

/*
 * What is nobody's business, taken out of the data before anything is told of it: report --redact. Serials go by number, so
 * that two of the same are still seen to be the same.
 */
void redact_all(struct views *views, struct events *events, struct kernel_log *kernel);
/* Names of files that the administrator has given; those that came with packages stay. */
void redact_quirks(struct quirk_facts *q);
