/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <poll.h>

#include "switch/transaction.h"
#include "sys/io/clock.h"
#include "sys/state/attachment.h"

#define CLAIM_TRIES 5
#define OPEN_BUDGET USEC_PER_SEC
#define OPEN_AGAIN_MSEC 20
#define LOOK_AGAIN_MSEC 50
/* a probe without a spin-up needs a fraction of it; uasd waits for a longer one */
#define PROBE_BUDGET (2 * USEC_PER_SEC)

static int open_online(struct transaction *t, struct awake deadline,
                       char ret_busy[static BLOCK_NAME_MAX])
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
        if (n == 0)
                return 0;
        return claim_prepare(&t->roots, online, n, t->from, deadline, &t->claim, ret_busy);
}

/* The kernel shows a disk in sysfs a moment before it can be opened. */
static int open_until(struct transaction *t, struct awake deadline,
                      char ret_busy[static BLOCK_NAME_MAX])
{
        struct awake end = awake_in(OPEN_BUDGET);

        for (;;) {
                int r = open_online(t, deadline, ret_busy);

                if ((r != -ENXIO && r != -ENOENT) || awake_left(end) == 0 || !attachment_there(t))
                        return r;
                (void) poll(NULL, 0, OPEN_AGAIN_MSEC);
        }
}

/* Waits until the kernel has probed every LUN. -EAGAIN: a LUN is still being probed at the
 * deadline. */
static int wait_for_probes(struct transaction *t, struct awake deadline)
{
        for (;;) {
                bool awaited = false, probing = false;
                int r;

                for (size_t i = 0; i < t->disk.n_luns; i++) {
                        awaited = awaited || lun_awaited(&t->disk.luns[i]);
                        probing = probing || t->disk.luns[i].probing;
                }
                if (!awaited)
                        return 0;
                if (awake_left(deadline) == 0)
                        return probing ? -EAGAIN : 0;
                (void) poll(NULL, 0, LOOK_AGAIN_MSEC);
                r = look_for_media(t);
                if (r < 0 && r != -ESTALE)
                        return r;
        }
}

static int claim_try(struct transaction *t, struct awake probed, struct awake deadline,
                     char ret_busy[static BLOCK_NAME_MAX])
{
        int r;

        claim_drop(&t->claim);
        r = wait_for_probes(t, probed);
        if (r < 0)
                return r;
        if (t->n_disks == 0)
                return -EAGAIN;
        r = open_until(t, deadline, ret_busy);
        if (r < 0)
                return r;
        return look_for_media(t);
}

int claim_online(struct transaction *t, struct awake deadline, char ret_busy[static BLOCK_NAME_MAX])
{
        struct awake probed = awake_in(PROBE_BUDGET);
        int r = -ESTALE;

        if (deadline.usec < probed.usec)
                probed = deadline;
        /* A card or partition that appears during the opens is opened as well. */
        for (int tries = 0; r == -ESTALE && tries < CLAIM_TRIES; tries++)
                r = claim_try(t, probed, deadline, ret_busy);
        return r;
}
