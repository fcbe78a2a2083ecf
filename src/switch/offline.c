/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <limits.h>
#include <poll.h>

#include "common/names.h"
#include "sys/io/clock.h"
#include "sys/io/sysfs.h"
#include "sys/state/attachment.h"
#include "switch/transaction.h"

#define CLAIM_TRIES 5
#define OPEN_BUDGET USEC_PER_SEC
#define OPEN_AGAIN_MSEC 20
#define PROBE_BUDGET (2 * USEC_PER_SEC) /* a probe without a spin-up takes a fraction of it; uasd waits for a longer one */

const char *lun_attribute(const char *host, const struct lun *l, const char *name, char *ret, size_t size)
{
        (void) snprintf(ret, size, "%s/target%.*s/%s/%s", host, (int) (strrchr(l->scsi, ':') - l->scsi), l->scsi, l->scsi,
                        name);
        return ret;
}

/*
 * A disk which the kernel has given up ("Device offlined - not ready after error recovery") answers every open and every
 * write with an error: it can be neither claimed nor mounted, and what was not written is lost already. With no user left
 * usb-storage is its repair.
 */
bool lun_offline(const struct transaction *t, const char *host, const struct lun *l)
{
        char below[128], path[PATH_MAX], state[32];

        (void) snprintf(path, sizeof(path), SYSFS_USB_DEVICES "/%s/%s", t->interface,
                        lun_attribute(host, l, "state", below, sizeof(below)));
        return attr_read(t->roots.sys, path, state, sizeof(state)) > 0 && streq(state, "offline");
}

static int open_online(struct transaction *t, struct awake deadline, char ret_busy[static BLOCK_NAME_MAX])
{
        _cleanup_free_ struct lun *online = calloc(t->disk.n_luns, sizeof(*online));
        size_t n = 0;

        if (!online)
                return -ENOMEM;
        for (size_t i = 0; i < t->disk.n_luns; i++)
                if (t->to == DRIVER_USB_STORAGE && lun_offline(t, t->disk.host, &t->disk.luns[i]))
                        t->offline = true;
                else
                        online[n++] = t->disk.luns[i];
        return n == 0 ? 0 : claim_prepare(&t->roots, online, n, t->from, deadline, &t->claim, ret_busy);
}

/* The kernel shows a disk in sysfs a moment before it can be opened. */
static int open_until(struct transaction *t, struct awake deadline, char ret_busy[static BLOCK_NAME_MAX])
{
        struct awake end = awake_in(OPEN_BUDGET);

        for (;;) {
                int r = open_online(t, deadline, ret_busy);

                if ((r != -ENXIO && r != -ENOENT) || awake_left(end) == 0 || !attachment_there(t))
                        return r;
                (void) poll(NULL, 0, OPEN_AGAIN_MSEC);
        }
}

int claim_online(struct transaction *t, struct awake deadline, char ret_busy[static BLOCK_NAME_MAX])
{
        struct awake probed = awake_in(PROBE_BUDGET);
        int r = -ESTALE;

        /* What appears while the nodes are being opened, a card or a partition, is opened as well. */
        for (int tries = 0; r == -ESTALE && tries < CLAIM_TRIES; tries++) {
                claim_drop(&t->claim);
                r = wait_for_probes(t, deadline.usec < probed.usec ? deadline : probed);
                if (r >= 0 && t->n_disks == 0)
                        r = -EAGAIN;
                if (r >= 0)
                        r = open_until(t, deadline, ret_busy);
                if (r >= 0)
                        r = look_for_media(t);
        }
        return r;
}
