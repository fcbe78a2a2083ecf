/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/disk.h"
#include "core/kmsg.h"
#include "sys/io/roots.h"

/*
 * What goes wrong with a disk while it is measured, by what the SCSI layer counts of it and by what the kernel
 * says of it. One abort or reset is enough here: nobody's data hangs on the answer, and a bridge that fails now
 * fails later too.
 */

#define ERRORS_SIGNS_MAX 6
#define ERRORS_TEXT_MAX 512

struct errors_seen {
        uint64_t timeouts;    /* commands */
        uint64_t failed;      /* commands that ended in an error; alone they may be what others asked for */
        bool counts_timeouts; /* this kernel does */
        bool offline;         /* the kernel has given the disk up */
        struct {
                const char *what;
                enum blame blame;
                unsigned n;
        } signs[ERRORS_SIGNS_MAX]; /* of the kernel's log, the first ones first */
        size_t n_signs;
};

struct errors_watch {
        const struct roots *roots;
        int kmsg; /* -1: it may not be read */
        struct facts facts;
        char host[16], block[BLOCK_NAME_MAX];
        uint64_t timeouts, failed; /* as they were at the beginning */
        struct errors_seen seen;
};

#define ERRORS_NULL ((struct errors_watch){.kmsg = -1})

/* Begins anew, with what is there now: after every switch, since it makes a new SCSI device. 0 or -errno. */
int errors_begin(struct errors_watch *w, const struct roots *r, const char *interface, const char *block);
void errors_end(struct errors_watch *w);

/* All that has come since. True if it is trouble. io_failed: whether I/O failed as well. */
bool errors_look(struct errors_watch *w, bool io_failed);

/* One record of the kernel's log, if it is about this disk. */
void errors_take_record(struct errors_watch *w, const char *record, size_t size);

/* Pure: is it trouble, and a clause for it ("2 commands not answered in time; ..."). Returns ret. */
bool errors_are_trouble(const struct errors_seen *s, bool io_failed);
char *errors_text(const struct errors_seen *s, char ret[static ERRORS_TEXT_MAX]);
