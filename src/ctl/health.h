/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "client/view.h"
#include "core/link.h"
#include "core/smart.h"
#include "core/trim.h"
#include "sys/block/counts.h"
#include "sys/io/roots.h"

/* The part of status about the condition of a disk. Read from sysfs, even if the rest comes from
 * the daemon. */

/* The answer of smartctl(8) about a disk if it may be asked; otherwise the command to run. */

struct smart {
        bool told;                 /* print a line: the user has named the disk */
        bool missing;              /* smartctl is not installed */
        bool asked;                /* smartctl has sent it commands */
        char type[SMART_TYPE_MAX]; /* for -d; empty: not known */
        const char *why_not;       /* a clause if it was not asked or did not answer; NULL: the next
                                      fields are valid */
        int passed;                /* 1 or 0; -1: not known */
        int temperature;           /* in degrees Celsius; INT_MIN: not known */
};

/* Reads the output of `smartctl --json`. Sets why_not if it contains no answer. */
void smart_parse(const char *json, struct smart *ret);

struct lun_health {
        const struct lun *lun; /* of the view */
        struct scsi_counts counts;
        struct trim_facts trim;
        struct smart smart;
};

struct health {
        char protocol[64]; /* "08:06:62, 4 endpoints", as in lsusb; empty: not known */
        struct link_facts link;
        struct lun_health *luns; /* LUNs with a block device */
        size_t n_luns;
};

/* Keeps pointers to the LUNs of v. */
void health_read(const struct roots *roots, const struct view *v, struct health *ret);
/* Adds the answer of smartctl about its disks, or the reason for not asking. This may take seconds.
 * root: as in struct ctl. */
void health_ask(const struct roots *roots, const char *root, const struct view *v,
                struct health *h);
void health_done(struct health *h);
/* The answers of smartctl. */
void health_print(const struct health *h);
void health_print_commands(const struct health *h);
/* Only the lines on TRIM, with a key if they stand among others. False: nothing is known, and
 * nothing was printed. */
bool health_print_trim(const struct health *h, const struct view *v, bool among_others);
