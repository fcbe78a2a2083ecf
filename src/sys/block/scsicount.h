/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sys/io/roots.h"

/*
 * What the SCSI layer counts of a disk since it appeared (drivers/scsi/scsi_sysfs.c, show_iostat): a switch, which makes
 * a new SCSI device, begins at zero again.
 */
enum scsi_count {
        SCSI_COUNT_REQUESTS,
        SCSI_COUNT_DONE,
        SCSI_COUNT_ERRORS,
        SCSI_COUNT_TIMEOUTS, /* not before Linux 6.1 */
        _SCSI_COUNT_MAX,
};

/* block: "sda". 0; -ENOENT: the disk has gone, or this kernel does not count that; other -errno. */
int scsi_count_read(const struct roots *r, const char *block, enum scsi_count which, uint64_t *ret);

/* All of them, each as far as it is there. */
struct scsi_counts {
        uint64_t value[_SCSI_COUNT_MAX];
        bool known[_SCSI_COUNT_MAX];
};
void scsi_counts_read(const struct roots *r, const char *block, struct scsi_counts *ret);
