/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/gettext.h"
#include "switch/transaction.h"
#include "sys/block/claim.h"
#include "sys/block/counts.h"
#include "sys/users/users.h"

/* Finds the users of a disk while it is synced and read, up to the claim. */

/* Reports the users and ends the switch before the disk was touched. */
static int refuse_users(struct transaction *t, struct user *users, size_t n)
{
        for (size_t i = 0; i < n; i++)
                report_user(t, &users[i]);
        if (n)
                (void) tx_fail(t, UASD_EXIT_DEFERRED, -EBUSY,
                               users[0].where     ? N_("in use: %s of %s at %s")
                               : users[0].command ? N_("in use: %s of %s by %s")
                                                  : N_("in use: %s of %s"),
                               user_kind_to_string(users[0].kind), users[0].device, users[0].where ?: users[0].command);
        users_free(users, n);
        return n ? -EBUSY : 0;
}

int look_for_users(struct transaction *t, bool deep)
{
        struct user *users = NULL;
        size_t n = 0;
        int r = users_find(&t->roots, t->disk.luns, t->disk.n_luns, deep, &users, &n);

        if (r < 0) /* unknown counts as in use */
                return tx_fail(t, UASD_EXIT_FAILED, r, "cannot find out who uses the disk: %s", strerror(-r));
        return refuse_users(t, users, n);
}

int refuse_claimed(struct transaction *t, const char *node)
{
        struct user u = {.kind = USER_CLAIM};

        (void) copy_string(u.device, sizeof(u.device), node);
        report_user(t, &u);
        return tx_fail(t, UASD_EXIT_DEFERRED, -EBUSY, "in use: a mount or a program has claimed %s", node);
}

int count_exempt(const struct transaction *t, const struct usb_disk *d,
                 bool (*exempt)(const struct transaction *t, const struct user *u), size_t *ret)
{
        struct user *users = NULL;
        size_t n = 0;
        int r = users_find(&t->roots, d->luns, d->n_luns, true, &users, &n);

        *ret = 0;
        for (size_t i = 0; i < n; i++)
                *ret += exempt(t, &users[i]);
        users_free(users, n);
        return r < 0 ? r : n > *ret ? -EBUSY : 0;
}

/* A new node or medium may have users, and was neither watched nor synced. The next try has to begin with it. */
static int same_media(struct transaction *t)
{
        int r = look_for_media(t);

        if (r == -ESTALE)
                return tx_fail(t, UASD_EXIT_DEFERRED, r, "a medium was put in or taken out, or partitions were read again");
        return r < 0 ? tx_fail(t, UASD_EXIT_FAILED, r, "cannot read %s: %s", t->interface, strerror(-r)) : 0;
}

int look_for_strangers(struct transaction *t)
{
        const struct lun *luns = t->disk.luns;
        struct user u = {.kind = USER_OPEN};

        if (t->offline || !driver_has_one(&t->roots, t->from, t->interface) ||
            !claim_has_strangers(&t->roots, luns, t->disk.n_luns, t->from, &t->claim))
                return 0;
        for (size_t i = 0; i < t->disk.n_luns && !u.device[0]; i++)
                (void) copy_string(u.device, sizeof(u.device), luns[i].disk.name);
        report_user(t, &u);
        return tx_fail(t, UASD_EXIT_DEFERRED, -EBUSY, "in use: a program that cannot be named has the disk open");
}

int sync_nodes(struct transaction *t)
{
        char node[BLOCK_NAME_MAX] = "";
        int r = claim_sync(&t->claim, node);

        return r < 0 ? tx_fail(t, UASD_EXIT_FAILED, r, "%s cannot be synced: %s; it stays on its driver", node, strerror(-r)) : 0;
}

/* Repeats search and sync until no process has touched the disk meanwhile. */
int undisturbed(struct transaction *t)
{
        enum disturbance d;
        int r = 0;

        for (int tries = 0; tries < 5 && (d = claim_disturbed(&t->claim)) != DISTURBANCE_NONE; tries++) {
                r = look_for_users(t, true);
                if (r >= 0 && d == DISTURBANCE_WRITTEN)
                        r = sync_nodes(t);
                if (r < 0)
                        return r;
        }
        return claim_disturbed(&t->claim) == DISTURBANCE_NONE
                       ? 0
                       : tx_fail(t, UASD_EXIT_DEFERRED, -EBUSY, "a program keeps opening the disk");
}

int take_fingerprint(struct transaction *t)
{
        int r;

        t->written = claim_written(&t->roots, &t->claim);
        /* Inside delay_use, or without a driver, there is no disk yet. A disk that is offline has no data to compare. */
        if (t->claim.n == 0 || t->offline)
                return 0;
        free(TAKE_PTR(t->fingerprint));
        /* If a disk cannot be read under uas, that is a reason to leave uas. */
        r = fingerprint_read(&t->claim, t->from == DRIVER_UAS, &t->fingerprint, NULL);
        return r < 0 ? tx_fail(t, UASD_EXIT_FAILED, r, "cannot read the disk: %s", strerror(-r)) : 0;
}

/*
 * Every open between the claim and its end fails. So the claim comes last, after all slow work. It is released at once if another
 * process has just opened the disk, since that may be about to mount it. A write changes the disk, so the sync and the
 * fingerprint are repeated. From here on no process can mount a card that is put in.
 */
int close_door(struct transaction *t)
{
        char busy[BLOCK_NAME_MAX] = "";
        int r = -EAGAIN, opens = 0;

        if (t->claim.n == 0) /* no disk yet, or none left */
                return 0;
        claim_close_partitions(&t->claim);
        for (int tries = 0; tries < 5; tries++) {
                enum disturbance d = claim_disturbed(&t->claim);
                bool stale = r == -ESTALE || d == DISTURBANCE_WRITTEN;

                /* Counted before the search by name. If all opens that the driver counts are ours, the search is not needed. */
                opens = driver_opens(&t->roots, t->from);
                r = d == DISTURBANCE_NONE && tries == 0 && opens == (int) t->claim.n ? 0 : look_for_users(t, true);
                if (r >= 0 && opens > (int) t->claim.n)
                        r = look_for_strangers(t);
                if (r >= 0 && stale)
                        r = sync_nodes(t);
                if (r >= 0 && stale)
                        r = take_fingerprint(t);
                if (r >= 0)
                        r = same_media(t);
                if (r < 0)
                        return r;
                r = claim_close_door(&t->roots, t->from, opens, &t->claim, busy);
                if (r != -EAGAIN && r != -ESTALE)
                        break;
        }
        /* Without a count, an open in the last moment has not been noticed yet. */
        if (r >= 0 && opens < 0 && look_for_users(t, true) < 0)
                return -EBUSY;
        if (r >= 0 && claim_written(&t->roots, &t->claim) != t->written)
                r = -ESTALE;
        if (r == -EBUSY)
                return refuse_claimed(t, busy);
        if (r == -EAGAIN)
                return tx_fail(t, UASD_EXIT_DEFERRED, r, "a program keeps opening the disk");
        if (r == -ESTALE)
                return tx_fail(t, UASD_EXIT_DEFERRED, r, "a program keeps writing to the disk");
        return r < 0 ? tx_fail(t, UASD_EXIT_FAILED, r, "cannot claim %s: %s", busy, strerror(-r)) : 0;
}
