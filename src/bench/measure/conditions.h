/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/bench.h"
#include "client/view.h"
#include "sys/io/roots.h"

/* The conditions of a measurement, without which a result means nothing, and the traffic during a run. From sysfs, /proc and
 * udev's record. */

void conditions_machine(const struct roots *r, struct bench_conditions *c);
/* The disk, and the LUN that is measured. */
void conditions_disk(const struct roots *r, const struct view *v, unsigned lun, struct bench_conditions *c);
/* The queue of the disk under its driver, after the bind. A value that cannot be read stays unknown. */
void conditions_driver(const struct roots *r, const char *block, enum driver d, struct bench_conditions *c);

/* "[mq-deadline] none": the name in brackets. Returns ret, "" without one. */
char *scheduler_chosen(const char *line, char *ret, size_t size);

/* The kernel's counters of the disks on a bus, before and after a run. They separate our bytes from those of others. */
struct traffic {
        uint64_t others;                /* bytes read and written on the other disks of the bus */
        uint64_t read, written;         /* of the measured disk, with all LUNs of its enclosure */
        uint64_t lun_read, lun_written; /* of the measured LUN */
        bool known;
};

/* interface: NULL: the disk is not known. */
void traffic_read(const struct roots *r, const char *interface, const char *block, struct traffic *ret);
/* Whether this kernel counts the I/O of a process. Otherwise fio_run() has no such counts. */
bool traffic_is_counted(const struct roots *r);

/*
 * Sets the results: bytes per second of others on the bus and on the disk itself, and the parts of fio's reads and writes that
 * reached a device. Input from fio: r->device_*, the counts of its processes, negative if there are none. Pure.
 */
void traffic_tell(const struct traffic *before, const struct traffic *after, const struct bench_pattern *p, uint64_t usec,
                  struct bench_run *r);

/* Bytes from a line of /sys/block/NAME/stat. 0 or -EINVAL. */
int stat_bytes(const char *line, uint64_t *ret_read, uint64_t *ret_written);
