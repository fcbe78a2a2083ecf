/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/bench.h"
#include "sys/io/roots.h"

/* What the kernel has counted of the disks on a bus, before and after a run: what was ours of it, and what others'. */
struct traffic {
        uint64_t others;                /* bytes of the other disks on the bus, read and written */
        uint64_t read, written;         /* of the disk that is measured, with all that stands in its enclosure */
        uint64_t lun_read, lun_written; /* of the one that is measured */
        bool known;
};

/* interface: NULL: not known on what disk. */
void traffic_read(const struct roots *r, const char *interface, const char *block, struct traffic *ret);
/* Whether this kernel counts what a process reads and writes: what fio_run() says of it is nothing otherwise. */
bool traffic_is_counted(const struct roots *r);

/*
 * Puts in what came of it: bytes a second of others on the bus and on the disk itself, and how much of what fio read came from a
 * device, and of what it wrote went to one. Of fio: r->device_*, as its processes were accounted for, negative if they were not.
 * Pure.
 */
void traffic_tell(const struct traffic *before, const struct traffic *after, const struct bench_pattern *p, uint64_t usec,
                  struct bench_run *r);

/* Of a line of /sys/block/NAME/stat, bytes. 0 or -EINVAL. */
int stat_bytes(const char *line, uint64_t *ret_read, uint64_t *ret_written);
