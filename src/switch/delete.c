/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "switch/quiesce.h"
#include "switch/remove.h"
#include "switch/transaction.h"
#include "sys/io/sysfs.h"

#define LOOK_AGAIN_USEC 200

/*
 * As soon as the delete of a LUN begins (SDEV_CANCEL), scsi_device_get() fails, and so does every
 * open. Its block device is dead much later, since the kernel waits for RCU in between. Until then
 * our claim would make an open fail with EBUSY, as if the disk were in use, although it is about to
 * disappear. The write to `delete` returns only after all that. So a thread releases the claim
 * during the write.
 */
struct claim_releaser {
        struct transaction *t;
        int dir; /* of the interface */
        pthread_t thread;
        sem_t runs, go;
        bool there;
        atomic_size_t
                begun; /* number of LUNs whose delete has begun: the thread releases their claims */
        atomic_bool over;
};

static bool lun_leaves(const struct claim_releaser *d, const struct lun *l)
{
        char path[128], state[32];
        int r = (int) attr_read(d->dir,
                                lun_attribute(d->t->disk.host, l, "state", path, sizeof(path)),
                                state, sizeof(state));

        return r == -ENOENT || r == -ENODEV ||
               (r > 0 && (streq(state, "cancel") || streq(state, "deleted")));
}

/* Returns true if no claim is left. */
static bool releaser_let_go(struct claim_releaser *d)
{
        size_t begun = atomic_load(&d->begun);
        bool left = begun < d->t->disk.n_luns;

        for (size_t i = 0; i < begun; i++) {
                const struct lun *l = &d->t->disk.luns[i];

                if (!claim_has(&d->t->claim, l->lun))
                        continue;
                if (lun_leaves(d, l))
                        claim_let_go(&d->t->claim, l->lun);
                else
                        left = true;
        }
        return !left;
}

/* If the disk does not answer the last flush, the delete may take a minute. The thread ends with
 * `over`. */
static void *let_claims_go(void *data)
{
        struct claim_releaser *d = data;

        (void) sem_post(&d->runs);
        (void) TEMP_FAILURE_RETRY(sem_wait(&d->go));
        while (!atomic_load(&d->over) && !releaser_let_go(d))
                (void) usleep(LOOK_AGAIN_USEC);
        return NULL;
}

/*
 * Without the thread, or if the kernel does not show the state, the claims last as long as the
 * block devices. On one processor the kernel runs a new thread after all that the delete wakes up,
 * such as udev. So it begins before the claim, and has run once. A late close also starts another
 * grace period of RCU, which the delete would wait for.
 */
static void claim_releaser_begin(struct claim_releaser *d)
{
        const struct transaction *t = d->t;

        if (t->claim.n == 0 || lun_leaves(d, &t->disk.luns[0]))
                return;
        (void) sem_init(&d->runs, 0, 0);
        (void) sem_init(&d->go, 0, 0);
        d->there = pthread_create(&d->thread, NULL, let_claims_go, d) == 0;
        if (d->there)
                (void) TEMP_FAILURE_RETRY(sem_wait(&d->runs));
}

/* The deletes begin. */
static void claim_releaser_go(struct claim_releaser *d)
{
        if (d->there)
                (void) sem_post(&d->go);
}

static void claim_releaser_end(struct claim_releaser *d)
{
        atomic_store(&d->over, true);
        claim_releaser_go(d); /* also without a delete */
        if (d->there)
                (void) pthread_join(d->thread, NULL);
}

/*
 * While a LUN is deleted its transport still works, so sd's last flush reaches the drive. At unbind
 * `uas` fails every command before sd is removed (docs/switch.md).
 */
static int delete_all(struct transaction *t, struct claim_releaser *d)
{
        for (size_t i = 0; i < t->disk.n_luns; i++) {
                const struct lun *l = &t->disk.luns[i];
                int r;

                /* It cannot be flushed any more, and waiting for the flush takes a minute. */
                if (t->offline && lun_offline(t, t->disk.host, l))
                        continue;
                r = lun_delete(t, d->dir, i, &d->begun);
                if (r == -EBUSY) {
                        t->phase = i > 0 ? PHASE_TAKEN : PHASE_HOME;
                        return tx_fail(t, UASD_EXIT_DEFERRED, r, NOT_CLAIMED);
                }
                if (r < 0)
                        return tx_fail(t, UASD_EXIT_ROLLED_BACK, r, "cannot take %s away: %s",
                                       l->scsi, strerror(-r));
        }
        return 0;
}

static int claim_and_delete(struct transaction *t, struct claim_releaser *d)
{
        int r = close_door(t);

        if (r < 0)
                return r;
        t->phase = PHASE_TAKEN;
        claim_releaser_go(d);
        return delete_all(t, d);
}

/*
 * All slow work comes before close_door(): every open between the claim and its end fails. The
 * deletes use the directory of the interface: when the disk is unplugged, it is dead, while another
 * disk may get the same host number at once.
 */
int luns_delete(struct transaction *t)
{
        _cleanup_close_ int dir = interface_open(t);
        struct claim_releaser d = {.t = t, .dir = dir};
        int r;

        if (dir < 0)
                return tx_fail(t, UASD_EXIT_FAILED, dir,
                               "the disk is no longer the one that was looked at");
        claim_releaser_begin(&d);
        r = claim_and_delete(t, &d);
        claim_releaser_end(&d);
        return r;
}
