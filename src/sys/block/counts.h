/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/types.h"
#include "sys/io/roots.h"

/*
 * Returns the number of opens of all disks on this driver, mounts and claims among them. sd, sg and
 * loop devices pin the driver's module for each (scsi_device_get). So it is the module's reference
 * count, less the modules that depend on it. -ENOENT: the driver is built in and has no count. Or
 * another -errno.
 */
int driver_opens(const struct roots *roots, enum driver d);

/* Returns true if this interface is the only one on its driver. */
bool driver_has_one(const struct roots *roots, enum driver d, const char *interface);

/* Returns the number of sectors ever written to the disk or discarded. block: "sda". A flush of the
 * drive's cache is no write. */
uint64_t sectors_written(const struct roots *roots, const char *block);

/* Counters of the SCSI layer (drivers/scsi/scsi_sysfs.c, show_iostat). Zero after a switch: the
 * SCSI device is new. */
enum scsi_count {
        SCSI_COUNT_REQUESTS,
        SCSI_COUNT_DONE,
        SCSI_COUNT_ERRORS,
        SCSI_COUNT_TIMEOUTS, /* Linux 6.1 or later */
        _SCSI_COUNT_MAX,
};

/* block: "sda". Returns 0, -ENOENT if the disk has gone or this kernel has no such counter, or
 * another -errno. */
int scsi_count_read(const struct roots *roots, const char *block, enum scsi_count which,
                    uint64_t *ret);

/* All counters that the kernel has. */
struct scsi_counts {
        uint64_t value[_SCSI_COUNT_MAX];
        bool known[_SCSI_COUNT_MAX];
};
void scsi_counts_read(const struct roots *roots, const char *block, struct scsi_counts *ret);
