/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <poll.h>

#include "switch/claim.h"
#include "switch/hold.h"
#include "switch/quiesce.h"
#include "switch/report.h"
#include "switch/tasks.h"
#include "switch/transaction.h"
#include "sys/io/ask-pid1.h"
#include "sys/io/clock.h"

/* for the lock on a node, which udev's worker has meanwhile */
#define LOCK_BUDGET (10 * USEC_PER_SEC)
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
        if (t->before.n_disks == 0)
                return -EAGAIN;
        r = open_until(t, deadline, ret_busy);
        if (r < 0)
                return r;
        return look_for_media(t);
}

/*
 * Opens the nodes that can be claimed, and reads their LUNs. Sets `offline` if a LUN cannot be
 * opened. Returns 0, the errors of claim_prepare(), -EAGAIN if a LUN, or each, has no block device
 * yet, or -ESTALE if the LUNs keep changing.
 */
static int claim_online(struct transaction *t, struct awake deadline,
                        char ret_busy[static BLOCK_NAME_MAX])
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

/*
 * PID 1 is asked after the claim: the disk may have become free because the machine goes down. The
 * answer is read before the delete, so that the program that asks starts beside the sync. A held
 * disk had no user before, and during a boot PID 1 is slow: then it is not asked.
 */
static void ask_whether_it_stops(struct transaction *t)
{
        if (t->pid1.error >= 0)
                t->pid1.error = pid1_ask(PID1_ASK_STATE, NULL, &t->pid1.stopping);
}

/* Searches in all open files, and in the count of those that no search finds. */
static int look_for_openers(struct transaction *t)
{
        int r = look_for_users(t, true);

        if (r < 0)
                return r;
        return look_for_strangers(t);
}

int step_claim(struct transaction *t)
{
        char busy[BLOCK_NAME_MAX] = "";
        int r;

        if (t->disk.n_luns == 0) /* it has no driver, or no longer one */
                return 0;
        r = look_for_users(t, false);
        if (r < 0)
                return r;
        r = claim_online(t, step_deadline(t, LOCK_BUDGET), busy);
        if (r == -EBUSY)
                return refuse_claimed(t, busy);
        if (r == -ETIMEDOUT)
                return tx_fail(t, UASD_EXIT_DEFERRED, r, "a program keeps the lock on %s", busy);
        if (r == -ESTALE)
                return tx_fail(t, UASD_EXIT_DEFERRED, r, "its media or partitions keep changing");
        if (r == -EAGAIN)
                return tx_fail(t, UASD_EXIT_DEFERRED, r,
                               "the kernel is still probing it: it has no block device yet");
        if (r < 0)
                return tx_fail(t, UASD_EXIT_FAILED, r, "cannot open %s: %s",
                               busy[0] ? busy : t->interface, strerror(-r));
        ask_whether_it_stops(t);
        /* If the kernel itself counts no opens but ours, a search in /proc is not needed. */
        if (t->claim.alone)
                return 0;
        return look_for_openers(t);
}

/*
 * No switch: only the claim, for a program that wants a disk exclusively. A process of its own has
 * the claim, since the open of a sick disk may hang. The claim ends with the process that wanted
 * it, which closes our stdin.
 */

static int claim_only_take(struct transaction *t)
{
        char busy[BLOCK_NAME_MAX] = "";
        int r = claim_take(&t->roots, t->disk.luns, t->disk.n_luns, &t->claim, busy);

        if (r == -EBUSY)
                return refuse_claimed(t, busy);
        if (r < 0)
                return tx_fail(t, UASD_EXIT_FAILED, r, "cannot open %s: %s", busy, strerror(-r));
        return 0;
}

/* A process that has the disk open without a claim is a user, too. Exempt are the processes that
 * only this claim let in. */
static int take_if_free(struct transaction *t)
{
        int r = look_for_users(t, true);

        if (r < 0)
                return r;
        r = claim_only_take(t);
        if (r < 0)
                return r;
        return look_for_openers(t); /* which opened it before the claim */
}

static int claim_only_begin(struct transaction *t, bool again)
{
        int r = tx_identify(t, false);

        if (r < 0)
                return r;
        if (t->before.n_disks == 0)
                return tx_fail(t, UASD_EXIT_FAILED, -ENODEV, "it has no block device");
        if (again)
                return claim_only_take(t);
        return take_if_free(t);
}

static void wait_for_end(void)
{
        char byte;
        ssize_t n;

        do
                n = read(STDIN_FILENO, &byte, 1);
        while (n > 0 || (n < 0 && errno == EINTR));
}

int transaction_claim(struct transaction *t, bool again)
{
        (void) copy_string(t->result.step, sizeof(t->result.step), "claim");
        report_step(t);
        if (claim_only_begin(t, again) >= 0) {
                claim_keep(&t->claim);
                report_claim(t);
                wait_for_end();
        }
        claim_drop(&t->claim);
        usb_disk_done(&t->disk);
        return t->result.code;
}
