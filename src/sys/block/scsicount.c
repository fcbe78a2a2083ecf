/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/block/scsicount.h"

#include <stdio.h>

#include "core/disk.h"
#include "sys/io/sysfs.h"

static const char *const attributes[_SCSI_COUNT_MAX] = {
        [SCSI_COUNT_REQUESTS] = "iorequest_cnt",
        [SCSI_COUNT_DONE] = "iodone_cnt",
        [SCSI_COUNT_ERRORS] = "ioerr_cnt",
        [SCSI_COUNT_TIMEOUTS] = "iotmo_cnt",
};

int scsi_count_read(const struct roots *r, const char *block, enum scsi_count which, uint64_t *ret)
{
        char path[BLOCK_NAME_MAX + 32];

        (void) snprintf(path, sizeof(path), "block/%s/device/%s", block, attributes[which]);
        return attr_read_uint(r->sys, path, 16, ret);
}

void scsi_counts_read(const struct roots *r, const char *block, struct scsi_counts *ret)
{
        *ret = (struct scsi_counts){};
        for (enum scsi_count i = 0; i < _SCSI_COUNT_MAX; i++)
                ret->known[i] = scsi_count_read(r, block, i, &ret->value[i]) >= 0;
}
