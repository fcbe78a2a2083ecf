/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/udev/trigger.h"

#include "common/util.h"
#include "sys/io/sysfs.h"

/* Writes the action to the device, and keeps the first error. */
static void trigger_one(const struct roots *r, const struct block *b, const char *action, int *first)
{
        char path[16 + BLOCK_NAME_MAX + 8];
        int k;

        (void) snprintf(path, sizeof(path), "class/block/%s/uevent", b->name);
        k = attr_write(r->sys, path, action);
        if (k < 0 && !*first)
                *first = k;
}

static int trigger_all(const struct roots *r, const struct lun *luns, size_t n_luns, bool parts, const char *action)
{
        int first = 0;

        for (size_t i = 0; i < n_luns; i++) {
                if (!luns[i].disk.name[0])
                        continue;
                trigger_one(r, &luns[i].disk, action, &first);
                for (size_t p = 0; parts && p < luns[i].n_parts; p++)
                        trigger_one(r, &luns[i].parts[p], action, &first);
        }
        return first;
}

int trigger_add(const struct roots *r, const struct lun *luns, size_t n_luns)
{
        return trigger_all(r, luns, n_luns, true, "add");
}

int trigger_change(const struct roots *r, const struct lun *luns, size_t n_luns)
{
        /* The kernel wants a UUID before the arguments of an event. No program waits for this one. */
        return trigger_all(r, luns, n_luns, false, "change 00000000-0000-0000-0000-000000000000 UASD=ask");
}
