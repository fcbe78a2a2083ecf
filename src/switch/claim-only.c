/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "switch/transaction.h"
#include "sys/users/users.h"

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
        r = look_for_users(t, true); /* users that opened it before the claim */
        if (r < 0)
                return r;
        return look_for_strangers(t);
}

static int claim_only_begin(struct transaction *t, bool again)
{
        int r = tx_identify(t, false);

        if (r < 0)
                return r;
        if (t->n_disks == 0)
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
        (void) copy_string(t->step, sizeof(t->step), "claim");
        report_step(t);
        if (claim_only_begin(t, again) >= 0) {
                claim_keep(&t->claim);
                report_claim(t);
                wait_for_end();
        }
        claim_drop(&t->claim);
        usb_disk_done(&t->disk);
        return t->code;
}
