/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <limits.h>

#include "common/names.h"
#include "switch/transaction.h"
#include "sys/io/sysfs.h"

const char *lun_attribute(const char *host, const struct lun *l, const char *name, char *ret, size_t size)
{
        (void) snprintf(ret, size, "%s/target%.*s/%s/%s", host, (int) (strrchr(l->scsi, ':') - l->scsi), l->scsi, l->scsi, name);
        return ret;
}

/*
 * If the kernel has given a disk up ("Device offlined - not ready after error recovery"), every open and every write fails. The
 * disk can be neither claimed nor mounted, and unwritten data is lost already. If it has no user, a switch to usb-storage repairs
 * it.
 */
bool lun_offline(const struct transaction *t, const char *host, const struct lun *l)
{
        char below[128], path[PATH_MAX], state[32];

        (void) snprintf(path, sizeof(path), SYSFS_USB_DEVICES "/%s/%s", t->interface,
                        lun_attribute(host, l, "state", below, sizeof(below)));
        return attr_read(t->roots.sys, path, state, sizeof(state)) > 0 && streq(state, "offline");
}

/*
 * Returns true if `l` is one of `luns`, with the same block device. The kernel does not reuse the number of a block device that
 * is open, and a claimed one is open. Its medium may be another one: no process can mount a card in a claimed slot.
 */
bool lun_among(const struct lun *l, const struct lun *luns, size_t n, size_t *ret_i)
{
        for (size_t i = 0; i < n; i++)
                if (streq(luns[i].scsi, l->scsi) && streq(luns[i].disk.name, l->disk.name) &&
                    luns[i].disk.major == l->disk.major && luns[i].disk.minor == l->disk.minor) {
                        *ret_i = i;
                        return true;
                }
        return false;
}
