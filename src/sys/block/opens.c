/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/block/opens.h"

#include <limits.h>

#include "common/names.h"
#include "common/util.h"
#include "core/disk.h"
#include "sys/io/sysfs.h"

static int count_one(const char *name, void *data)
{
        ++*(int *) data;
        return 0;
}

int driver_opens(const struct roots *r, enum driver d)
{
        const char *module = d == DRIVER_UAS ? "uas" : d == DRIVER_USB_STORAGE ? "usb_storage" : NULL;
        int dependents = 0, k;
        uint64_t references;
        char path[64];

        if (!module)
                return -ENOENT;
        (void) snprintf(path, sizeof(path), "module/%s/refcnt", module);
        k = attr_read_uint(r->sys, path, 10, &references);
        if (k < 0)
                return k;
        (void) snprintf(path, sizeof(path), "module/%s/holders", module);
        k = dir_each(r->sys, path, count_one, &dependents);
        if (k < 0)
                return k;
        return references > INT_MAX || (int) references < dependents ? -ERANGE : (int) references - dependents;
}

static int is_another(const char *name, void *data)
{
        return interface_name_valid(name) && !streq(name, data);
}

bool driver_has_one(const struct roots *r, enum driver d, const char *interface)
{
        char path[64];

        (void) snprintf(path, sizeof(path), SYSFS_USB_DRIVERS "/%s", driver_to_string(d));
        return dir_each(r->sys, path, is_another, (void *) interface) == 0;
}
