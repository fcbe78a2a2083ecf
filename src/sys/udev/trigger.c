/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/udev/trigger.h"

#include "common/util.h"
#include "sys/io/sysfs.h"

static int trigger_one(const struct roots *r, const struct block *b, const char *action)
{
        char path[16 + BLOCK_NAME_MAX + 8];

        (void) snprintf(path, sizeof(path), "class/block/%s/uevent", b->name);
        return attr_write(r->sys, path, action);
}

int trigger_add(const struct roots *r, const struct lun *luns, size_t n_luns)
{
        int first = 0;

        for (size_t i = 0; i < n_luns; i++) {
                if (!luns[i].disk.name[0])
                        continue;
                int k = trigger_one(r, &luns[i].disk, "add");
                if (k < 0 && !first)
                        first = k;
                for (size_t p = 0; p < luns[i].n_parts; p++) {
                        k = trigger_one(r, &luns[i].parts[p], "add");
                        if (k < 0 && !first)
                                first = k;
                }
        }
        return first;
}

int trigger_change(const struct roots *r, const struct lun *luns, size_t n_luns)
{
        int first = 0;

        for (size_t i = 0; i < n_luns; i++) {
                int k = luns[i].disk.name[0] ? trigger_one(r, &luns[i].disk, "change") : 0;

                if (k < 0 && !first)
                        first = k;
        }
        return first;
}
