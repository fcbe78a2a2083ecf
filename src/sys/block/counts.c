/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/block/counts.h"

#include <limits.h>

#include "common/names.h"
#include "common/util.h"
#include "core/disk.h"
#include "sys/io/sysfs.h"

static const char *driver_module(enum driver d)
{
        if (d == DRIVER_UAS)
                return "uas";
        if (d == DRIVER_USB_STORAGE)
                return "usb_storage";
        return NULL;
}

int driver_opens(const struct roots *roots, enum driver d)
{
        const char *module = driver_module(d);
        _cleanup_strv_ char **dependents = NULL;
        uint64_t references;
        int r, n;

        if (!module)
                return -ENOENT;
        r = attr_read_uint(roots->sys, path_join("module/", module, "/refcnt"), 10, &references);
        if (r < 0)
                return r;
        n = dir_list(roots->sys, path_join("module/", module, "/holders"), "", &dependents);
        if (n < 0)
                return n;
        if (references > INT_MAX || (int) references < n)
                return -ERANGE;
        return (int) references - n;
}

bool driver_has_one(const struct roots *roots, enum driver d, const char *interface)
{
        _cleanup_strv_ char **names = NULL;
        int n = dir_list(roots->sys, path_join(SYSFS_USB_DRIVERS "/", driver_to_string(d)), "",
                         &names);

        for (int i = 0; i < n; i++)
                if (interface_name_valid(names[i]) && !streq(names[i], interface))
                        return false;
        return n >= 0;
}

uint64_t sectors_written(const struct roots *roots, const char *block)
{
        unsigned long long written, discarded = 0;
        char text[256];

        /* A flush counts as a write without sectors. dumpe2fs sends one, and udisks runs dumpe2fs
         * after each change. */
        if (attr_read(roots->sys, path_join("class/block/", block, "/stat"), text, sizeof(text)) <=
                    0 ||
            sscanf(text, "%*u %*u %*u %*u %*u %*u %llu %*u %*u %*u %*u %*u %*u %llu", &written,
                   &discarded) < 1)
                return 0;
        return written + discarded;
}

static const char *const attributes[_SCSI_COUNT_MAX] = {
        [SCSI_COUNT_REQUESTS] = "iorequest_cnt",
        [SCSI_COUNT_DONE] = "iodone_cnt",
        [SCSI_COUNT_ERRORS] = "ioerr_cnt",
        [SCSI_COUNT_TIMEOUTS] = "iotmo_cnt",
};

int scsi_count_read(const struct roots *roots, const char *block, enum scsi_count which,
                    uint64_t *ret)
{
        return attr_read_uint(roots->sys, path_join("block/", block, "/device/", attributes[which]),
                              16, ret);
}

void scsi_counts_read(const struct roots *roots, const char *block, struct scsi_counts *ret)
{
        *ret = (struct scsi_counts){};
        for (enum scsi_count i = 0; i < _SCSI_COUNT_MAX; i++)
                ret->known[i] = scsi_count_read(roots, block, i, &ret->value[i]) >= 0;
}
