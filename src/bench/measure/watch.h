/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/bench.h"
#include "client/view.h"
#include "core/kmsg.h"
#include "sys/block/counts.h"
#include "sys/io/roots.h"

/* ---- the conditions of a measurement, without which a result means nothing: from sysfs, /proc and udev's record ---- */

void conditions_machine(const struct roots *r, struct bench_conditions *c);
/* The disk, and the LUN that is measured. */
void conditions_disk(const struct roots *r, const struct view *v, unsigned lun, struct bench_conditions *c);
/* The queue of the disk under its driver, after the bind. A value that cannot be read stays unknown. */
void conditions_driver(const struct roots *r, const char *block, enum driver d, struct bench_conditions *c);

/* "[mq-deadline] none": the name in brackets. Returns ret, "" without one. */
char *scheduler_chosen(const char *line, char *ret, size_t size);

/* ---- the traffic during a run ---- */

/* The kernel's counters of the disks on a bus, before and after a run. They separate our bytes from those of others. */
struct traffic {
        uint64_t others;                /* bytes read and written on the other disks of the bus */
        uint64_t read, written;         /* of the measured disk, with all LUNs of its enclosure */
        uint64_t lun_read, lun_written; /* of the measured LUN */
        bool known;
};

/* interface: NULL: the disk is not known. */
void traffic_read(const struct roots *r, const char *interface, const char *block, struct traffic *ret);

/*
 * Sets the results: bytes per second of others on the bus and on the disk itself, and the parts of fio's reads and writes that
 * reached a device. Input from fio: r->device_*, the counts of its processes, negative if there are none. Pure.
 */
void traffic_tell(const struct traffic *before, const struct traffic *after, const struct bench_pattern *p, uint64_t usec,
                  struct bench_run *r);

/* Bytes from a line of /sys/block/NAME/stat. 0 or -EINVAL. */
int stat_bytes(const char *line, uint64_t *ret_read, uint64_t *ret_written);

/* ---- errors ---- */

/*
 * Errors of a disk during a measurement, from the counters of the SCSI layer and from the kernel's log. One abort or reset is
 * enough here: the result decides about no user's data, and a bridge that fails now will fail later.
 */

#define ERRORS_SIGNS_MAX 6
#define ERRORS_TEXT_MAX 512

struct error_sign {
        const char *what;
        enum blame blame;
        unsigned n;
};

struct errors_seen {
        uint64_t timeouts;                         /* of commands */
        uint64_t failed;                           /* commands that ended in an error; other programs may have caused them */
        bool counts_timeouts;                      /* this kernel counts time-outs */
        bool offline;                              /* the kernel has set the disk offline */
        struct error_sign signs[ERRORS_SIGNS_MAX]; /* from the kernel's log, the first ones first */
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
