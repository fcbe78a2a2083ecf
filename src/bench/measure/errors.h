/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/disk.h"
#include "core/kmsg.h"
#include "sys/block/scsicount.h"
#include "sys/io/roots.h"

/*
 * Errors of a disk during a measurement, from the counters of the SCSI layer and from the kernel's log. One abort or reset is
 * enough here: the result decides about no user's data, and a bridge that fails now will fail later.
 */

#define ERRORS_SIGNS_MAX 6
#define ERRORS_TEXT_MAX 512

struct errors_seen {
        uint64_t timeouts;    /* of commands */
        uint64_t failed;      /* commands that ended in an error; other programs may have caused them */
        bool counts_timeouts; /* this kernel counts time-outs */
        bool offline;         /* the kernel has set the disk offline */
        struct {
                const char *what;
                enum blame blame;
                unsigned n;
        } signs[ERRORS_SIGNS_MAX]; /* from the kernel's log, the first ones first */
        size_t n_signs;
};

struct errors_watch {
        const struct roots *roots;
        int kmsg; /* -1: no permission to read it */
        struct facts facts;
        char host[16], block[BLOCK_NAME_MAX];
        struct scsi_counts before; /* at the beginning */
        struct errors_seen seen;
};

#define ERRORS_NULL ((struct errors_watch){.kmsg = -1})

/* Begins again with the present state. Needed after every switch, which makes a new SCSI device. Returns 0 or -errno. */
int errors_begin(struct errors_watch *w, const struct roots *r, const char *interface, const char *block);
void errors_end(struct errors_watch *w);

/* Reads all that has come since. Returns true if it is trouble. io_failed: whether I/O also failed. */
bool errors_look(struct errors_watch *w, bool io_failed);

/* Counts one record of the kernel's log, if it is about this disk. */
void errors_take_record(struct errors_watch *w, const struct kmsg *k);

/* Pure: whether it is trouble, and a clause about it ("2 commands not answered in time; ..."). errors_text() returns ret. */
bool errors_are_trouble(const struct errors_seen *s, bool io_failed);
char *errors_text(const struct errors_seen *s, char ret[static ERRORS_TEXT_MAX]);
