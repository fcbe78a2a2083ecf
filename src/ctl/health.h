/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "client/view.h"
#include "core/link.h"
#include "core/smart.h"
#include "core/trim.h"
#include "sys/block/scsicount.h"
#include "sys/io/roots.h"

/* What status tells of a disk besides what it is and why: how it fares. Read from sysfs, also where the daemon
 * said the rest. */

/* What smartctl(8) says of a disk, where it may be asked; and how it is to be called where it is not. */

struct smart {
        bool told;                 /* there is a line on it at all: of a disk that was asked for by name */
        bool missing;              /* there is no smartctl */
        char type[SMART_TYPE_MAX]; /* for -d; empty: its database has none */
        const char *why_not;       /* it was not asked, or did not answer: a clause; NULL: what follows is known */
        int passed;                /* 1, 0; -1: it does not say */
        int temperature;           /* in degrees Celsius; INT_MIN: it does not say */
};

struct lun_health {
        const struct lun *lun; /* of the view */
        struct scsi_counts counts;
        struct trim_facts trim;
        struct smart smart;
};

struct health {
        struct link_facts link;
        struct lun_health *luns; /* those with a block device */
        size_t n_luns;
};

/* Of v it keeps the LUNs. */
void health_read(const struct roots *r, const struct view *v, struct health *ret);
/* Besides, what smartctl says of its disks, or why it is not asked: this may take seconds. root: as in struct
 * ctl. */
void health_ask(const struct roots *r, const char *root, const struct view *v, struct health *h);
void health_done(struct health *h);
/* Fields and sentences below those of output_status(). */
void health_print(const struct health *h, const struct view *v);
/* The line on TRIM alone. */
void health_print_trim(const struct health *h, const struct view *v);
