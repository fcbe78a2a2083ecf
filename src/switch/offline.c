/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <limits.h>

#include "common/names.h"
#include "sys/sysfs.h"
#include "switch/transaction.h"

#define CLAIM_TRIES 5

const char *lun_attribute(const struct transaction *t, const struct lun *l, const char *name, char *ret, size_t size)
{
        (void) snprintf(ret, size, "%s/target%.*s/%s/%s", t->disk.host, (int) (strrchr(l->scsi, ':') - l->scsi), l->scsi, l->scsi,
                        name);
        return ret;
}

/*
 * A disk which the kernel has given up ("Device offlined - not ready after error recovery") answers every open and every
 * write with an error: it can be neither claimed nor mounted, and what was not written is lost already. With no user left
 * usb-storage is its repair.
 */
bool lun_offline(const struct transaction *t, const struct lun *l)
{
        char below[128], path[PATH_MAX], state[32];

        (void) snprintf(path, sizeof(path), SYSFS_USB_DEVICES "/%s/%s", t->interface,
                        lun_attribute(t, l, "state", below, sizeof(below)));
        return attr_read(t->roots.sys, path, state, sizeof(state)) > 0 && streq(state, "offline");
}

static int open_online(struct transaction *t, struct awake deadline, char ret_busy[static BLOCK_NAME_MAX])
{
        _cleanup_free_ struct lun *online = calloc(t->disk.n_luns, sizeof(*online));
        size_t n = 0;

        if (!online)
                return -ENOMEM;
        for (size_t i = 0; i < t->disk.n_luns; i++)
                if (t->to == DRIVER_USB_STORAGE && lun_offline(t, &t->disk.luns[i]))
                        t->offline = true;
                else
                        online[n++] = t->disk.luns[i];
        return n == 0 ? 0 : claim_prepare(&t->roots, online, n, t->from, deadline, &t->claim, ret_busy);
}

int claim_online(struct transaction *t, struct awake deadline, char ret_busy[static BLOCK_NAME_MAX])
{
        int r = -ESTALE;

        /* What appears while the nodes are being opened, a card or a partition, is opened as well. */
        for (int tries = 0; r == -ESTALE && tries < CLAIM_TRIES; tries++) {
                claim_drop(&t->claim);
                r = open_online(t, deadline, ret_busy);
                if (r >= 0)
                        r = look_for_media(t);
        }
        return r;
}
