/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "switch/quiesce.h"
#include "switch/report.h"
#include "switch/transaction.h"
#include "sys/block/claim.h"
#include "sys/block/counts.h"
#include "sys/users/users.h"

/* Finds the users of a disk while it is synced and read, up to the claim. */

static int refuse_user(struct transaction *t, const struct user *u)
{
        const char *kind = user_kind_to_string(u->kind);

        if (u->where)
                return tx_fail(t, UASD_EXIT_DEFERRED, -EBUSY, "in use: %s of %s at %s", kind,
                               u->device, u->where);
        if (u->command)
                return tx_fail(t, UASD_EXIT_DEFERRED, -EBUSY, "in use: %s of %s by %s", kind,
                               u->device, u->command);
        return tx_fail(t, UASD_EXIT_DEFERRED, -EBUSY, "in use: %s of %s", kind, u->device);
}

/* Reports the users and ends the switch before the disk was touched. */
static int refuse_users(struct transaction *t, struct user *users, size_t n)
{
        int r = 0;

        for (size_t i = 0; i < n; i++)
                report_user(t, &users[i]);
        if (n > 0)
                r = refuse_user(t, &users[0]);
        users_free(users, n);
        return r;
}

int look_for_users(struct transaction *t, bool deep)
{
        struct user *users = NULL;
        size_t n = 0;
        int r = users_find(&t->roots, t->disk.luns, t->disk.n_luns, deep, &users, &n);

        if (r < 0) /* unknown counts as in use */
                return tx_fail(t, UASD_EXIT_FAILED, r, "cannot find out who uses the disk: %s",
                               strerror(-r));
        return refuse_users(t, users, n);
}

int refuse_claimed(struct transaction *t, const char *node)
{
        struct user u = {.kind = USER_CLAIM};

        (void) copy_string(u.device, sizeof(u.device), node);
        report_user(t, &u);
        return tx_fail(t, UASD_EXIT_DEFERRED, -EBUSY, "in use: a mount or a program has claimed %s",
                       node);
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
        if (r < 0)
                return r;
        return n > *ret ? -EBUSY : 0;
}

/* A new node or medium may have users, and was neither watched nor synced. The next try has to
 * begin with it. */
static int same_media(struct transaction *t)
{
        int r = look_for_media(t);

        if (r == -ESTALE)
                return tx_fail(t, UASD_EXIT_DEFERRED, r,
                               "a medium was put in or taken out, or partitions were read again");
        if (r < 0)
                return tx_fail(t, UASD_EXIT_FAILED, r, "cannot read %s: %s", t->interface,
                               strerror(-r));
        return 0;
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
        return tx_fail(t, UASD_EXIT_DEFERRED, -EBUSY,
                       "in use: a program that cannot be named has the disk open");
}

static int sync_nodes(struct transaction *t)
{
        char node[BLOCK_NAME_MAX] = "";
        int r = claim_sync(&t->claim, node);

        if (r < 0)
                return tx_fail(t, UASD_EXIT_FAILED, r,
                               "%s cannot be synced: %s; it stays on its driver", node,
                               strerror(-r));
        return 0;
}

/* Repeats search and sync until no process has touched the disk meanwhile. */
static int undisturbed(struct transaction *t)
{
        enum disturbance d;
        int r;

        for (int tries = 0; tries < 5 && (d = claim_disturbed(&t->claim)) != DISTURBANCE_NONE;
             tries++) {
                r = look_for_users(t, true);
                if (r < 0)
                        return r;
                if (d != DISTURBANCE_WRITTEN)
                        continue;
                r = sync_nodes(t);
                if (r < 0)
                        return r;
        }
        if (claim_disturbed(&t->claim) != DISTURBANCE_NONE)
                return tx_fail(t, UASD_EXIT_DEFERRED, -EBUSY, "a program keeps opening the disk");
        return 0;
}

int step_sync(struct transaction *t)
{
        int r = sync_nodes(t);

        if (r < 0)
                return r;
        return undisturbed(t); /* the sync may have taken minutes */
}

int take_fingerprint(struct transaction *t)
{
        int r;

        t->before.written = claim_written(&t->roots, &t->claim);
        /* Inside delay_use, or without a driver, there is no disk yet. A disk that is offline has
         * no data to compare. */
        if (t->claim.n == 0 || t->offline)
                return 0;
        free(TAKE_PTR(t->before.fingerprint));
        /* If a disk cannot be read under uas, that is a reason to leave uas. */
        r = fingerprint_read(&t->claim, t->from == DRIVER_UAS, &t->before.fingerprint, NULL);
        if (r < 0)
                return tx_fail(t, UASD_EXIT_FAILED, r, "cannot read the disk: %s", strerror(-r));
        return 0;
}

/*
 * All work that may be slow, immediately before a claim. changed: another process has written to
 * the disk. ret_opens: the opens of all disks of the driver, or -errno.
 */
static int door_prepare(struct transaction *t, bool first, bool changed, int *ret_opens)
{
        enum disturbance d = claim_disturbed(&t->claim);
        int n = (int) t->claim.n, r;

        /* Counted before the search by name. If all opens that the driver counts are ours, the
         * search is not needed. */
        *ret_opens = driver_opens(&t->roots, t->from);
        if (d != DISTURBANCE_NONE || !first || *ret_opens != n) {
                r = look_for_users(t, true);
                if (r < 0)
                        return r;
        }
        if (*ret_opens > n) {
                r = look_for_strangers(t);
                if (r < 0)
                        return r;
        }
        if (changed || d == DISTURBANCE_WRITTEN) {
                r = sync_nodes(t);
                if (r < 0)
                        return r;
                r = take_fingerprint(t);
                if (r < 0)
                        return r;
        }
        return same_media(t);
}

static int door_refused(struct transaction *t, int error, const char *busy)
{
        switch (error) {
        case -EBUSY:
                return refuse_claimed(t, busy);
        case -EAGAIN:
                return tx_fail(t, UASD_EXIT_DEFERRED, error, "a program keeps opening the disk");
        case -ESTALE:
                return tx_fail(t, UASD_EXIT_DEFERRED, error, "a program keeps writing to the disk");
        default:
                return tx_fail(t, UASD_EXIT_FAILED, error, "cannot claim %s: %s", busy,
                               strerror(-error));
        }
}

/*
 * Every open between the claim and its end fails. So the claim comes last, after all slow work. It
 * is released at once if another process has just opened the disk, since that may be about to mount
 * it. A write changes the disk, so the sync and the fingerprint are repeated. From here on no
 * process can mount a card that is put in.
 */
int close_door(struct transaction *t)
{
        char busy[BLOCK_NAME_MAX] = "";
        int r = -EAGAIN, opens = 0;

        if (t->claim.n == 0) /* no disk yet, or none left */
                return 0;
        claim_close_partitions(&t->claim);
        for (int tries = 0; tries < 5; tries++) {
                r = door_prepare(t, tries == 0, r == -ESTALE, &opens);
                if (r < 0)
                        return r;
                r = claim_close_door(&t->roots, t->from, opens, &t->claim, busy);
                if (r != -EAGAIN && r != -ESTALE)
                        break;
        }
        if (r < 0)
                return door_refused(t, r, busy);
        /* Without a count, an open in the last moment has not been noticed yet. */
        if (opens < 0 && look_for_users(t, true) < 0)
                return -EBUSY;
        if (claim_written(&t->roots, &t->claim) != t->before.written)
                return door_refused(t, -ESTALE, busy);
        return 0;
}
