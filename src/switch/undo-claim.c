/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "common/util.h"
#include "switch/child.h"
#include "switch/quiesce.h"
#include "switch/signals.h"
#include "switch/transaction.h"
#include "switch/undo-claim.h"
#include "sys/block/counts.h"
#include "sys/io/clock.h"

/* for a child to begin: it needs a few msec, and is tried again */
#define START_BUDGET USEC_PER_SEC
/* for the first LUN whose open hangs */
#define UNDO_CLAIM_BUDGET (2 * USEC_PER_SEC)
/* then for each other LUN: a healthy one needs a few msec */
#define OTHER_LUN_BUDGET (100 * USEC_PER_MSEC)
#define UNDO_CLAIM_TRIES 3
/* in this time some data of a sync reaches the disk, or none will */
#define FLOW_BUDGET (2 * USEC_PER_SEC)
/* of a sync whose data flows; meanwhile no process can mount the disk */
#define SYNC_BUDGET (10 * USEC_PER_SEC)
#define LET_GO_BUDGET USEC_PER_SEC
#define LOOK_AGAIN_MSEC 50

/*
 * The child sends a word when it begins, claims the LUN, and answers. When its parent sends a word,
 * it syncs the LUN and answers again. It lives as long as it has the claim.
 */
static void hold_claim(struct transaction *t, const struct lun *l, int fd)
{
        struct claim c = CLAIM_NULL;
        char busy[BLOCK_NAME_MAX], word;
        int r;

        (void) !write(fd, "", 1);
        r = claim_take(&t->roots, l, 1, &c, busy);
        (void) !write(fd, &r, sizeof(r));
        if (r < 0)
                _exit(0);
        if (read(fd, &word, 1) == 1) {
                r = claim_sync(&c, busy);
                (void) !write(fd, &r, sizeof(r));
        }
        (void) pause();
        _exit(0);
}

static bool is_ours(const struct transaction *t, pid_t pid)
{
        bool ours = pid > 0 && pid == t->examiner.pid;

        for (size_t i = 0; t->undo.children && i < t->undo.disk.n_luns; i++)
                ours = ours || (pid > 0 && pid == t->undo.children[i].pid);
        return ours;
}

/*
 * Some processes have the disk open and do not count as users: the switch's own children, udev's
 * workers, and the examination of a killed switch. The latter stays until its reads at full depth
 * are answered.
 */
static bool is_reader(const struct transaction *t, const struct user *u)
{
        if (u->kind == USER_OPEN && u->command && streq(u->command, "uasd-switch") &&
            (!u->unit || streq(u->unit, "uasd.service")))
                return true;
        return user_is_udev(u) || is_ours(t, u->pid);
}

/* Counts the processes that do not count as users. Returns 0, -EBUSY, or -errno if unknown. */
static int count_readers(const struct transaction *t, size_t *ret_readers)
{
        return count_exempt(t, &t->undo.disk, is_reader, ret_readers);
}

static void undo_child_dismiss(struct undo_claim_child *c, bool wait)
{
        if (c->pid > 0) {
                (void) kill(c->pid, SIGKILL);
                if (wait)
                        (void) waitpid(c->pid, NULL, 0);
                (void) close(c->fd);
        }
        *c = (struct undo_claim_child){.pid = 0};
}

/* The claim of a child that is dead is gone: the OOM killer has killed it, or its open has failed
 * late. */
static bool undo_child_lives(const struct undo_claim_child *c)
{
        struct pollfd p = {.fd = c->fd};

        return c->pid > 0 && poll(&p, 1, 0) >= 0 && !(p.revents & POLLHUP);
}

/*
 * Waits until the child has the claim. While an open hangs, no other process can claim the disk:
 * the kernel gives the claim to the first caller, before it opens the device
 * (block/bdev.c:bd_prepare_to_claim). But a child that has not even begun has none. budget: how
 * long to wait for the open. Returns 0 also if the open hangs.
 */
static int await_claim(struct undo_claim_child *c, usec_t *budget)
{
        char word;
        int answer, r = child_read(c->fd, &word, 1, awake_in(START_BUDGET));

        if (r <= 0)
                return -ECANCELED;
        r = child_read(c->fd, &answer, sizeof(answer), awake_in(*budget));
        if (r > 0)
                return answer;
        c->hangs = r == 0;
        *budget = OTHER_LUN_BUDGET;
        return r;
}

static int claim_lun(struct transaction *t, size_t i, usec_t *budget)
{
        struct undo_claim_child *c = &t->undo.children[i];
        const struct lun *l = &t->undo.disk.luns[i];
        int r;

        c->pid = switch_child(t, &c->fd);
        if (c->pid < 0)
                return c->pid;
        if (c->pid == 0)
                hold_claim(t, l, c->fd);
        r = await_claim(c, budget);
        if (r < 0)
                undo_child_dismiss(c, true);
        if (r < 0 && r != -EBUSY && lun_offline(t, t->undo.disk.host, l))
                return 0;
        return r;
}

static uint64_t luns_written(const struct transaction *t)
{
        const struct usb_disk *d = &t->undo.disk;
        uint64_t sum = 0;

        for (size_t i = 0; i < d->n_luns; i++)
                if (d->luns[i].disk.name[0])
                        sum += sectors_written(&t->roots, d->luns[i].disk.name);
        return sum;
}

/* Waits for the ends of all syncs. Returns 1 if one has not ended at `end`, 0, or -ECANCELED if a
 * child was killed. */
static int await_syncs(const struct transaction *t, struct awake end)
{
        int answer, got, waiting = 0;

        for (size_t i = 0; i < t->undo.disk.n_luns; i++) {
                struct undo_claim_child *c = &t->undo.children[i];

                if (!c->syncs)
                        continue;
                got = child_read(c->fd, &answer, sizeof(answer), end);
                if (got < 0)
                        return got;
                c->hangs = c->syncs = got == 0;
                waiting = waiting || c->hangs;
        }
        return waiting;
}

/*
 * No process should have written to it yet. If one did, the data must not be lost. If none of it
 * reaches the disk any more, a longer wait saves nothing: the unbind ends the sync. Returns 0,
 * -ECANCELED if a child was killed, or -EBUSY if data still flows at the deadline.
 */
static int sync_luns(const struct transaction *t, struct awake deadline)
{
        uint64_t before, now = luns_written(t);
        int r;

        for (size_t i = 0; i < t->undo.disk.n_luns; i++) {
                struct undo_claim_child *c = &t->undo.children[i];

                c->syncs = c->pid > 0 && !c->hangs;
                if (c->syncs && send(c->fd, "", 1, MSG_NOSIGNAL) != 1)
                        return -ECANCELED;
        }
        while ((r = await_syncs(t, awake_in(FLOW_BUDGET))) > 0) {
                before = now;
                now = luns_written(t);
                if (now == before)
                        return 0;
                if (signal_waits() || awake_left(deadline) == 0)
                        return -EBUSY;
        }
        return r;
}

static int undo_claim_take(struct transaction *t)
{
        struct undo_claim *g = &t->undo;
        int r = usb_disk_read(&t->roots, t->interface, false, &g->disk);
        usec_t budget = UNDO_CLAIM_BUDGET;

        if (r == 0 || r == -ENODEV) /* gone */
                return 0;
        if (r < 0)
                return r;
        if (g->disk.n_luns == 0)
                return 0;
        g->children = calloc(g->disk.n_luns + 1, sizeof(*g->children));
        if (!g->children)
                return -ENOMEM;
        r = count_readers(t, &g->readers);
        if (r < 0)
                return r;
        for (size_t i = 0; i < g->disk.n_luns; i++) {
                if (!g->disk.luns[i].disk.name[0])
                        continue;
                r = claim_lun(t, i, &budget);
                if (r < 0)
                        return r;
        }
        /* A process may have opened it before it was claimed, or while the open of another LUN was
         * waited for. */
        r = count_readers(t, &g->readers);
        if (r < 0)
                return r;
        return sync_luns(t, child_deadline(t, SYNC_BUDGET));
}

int undo_claim_begin(struct transaction *t)
{
        int r = -ECANCELED;

        /* A failure of uasd-switch itself is not the fault of the disk: it is tried again. */
        for (int tries = 0; tries < UNDO_CLAIM_TRIES && r < 0 && r != -EBUSY; tries++) {
                r = undo_claim_take(t);
                if (r < 0)
                        undo_claim_end(t, false);
        }
        t->undo.active = r >= 0;
        return r;
}

bool undo_claim_has(const struct transaction *t, const struct lun *l)
{
        const struct undo_claim *g = &t->undo;
        size_t i;

        return lun_among(l, g->disk.luns, g->disk.n_luns, &i) && undo_child_lives(&g->children[i]);
}

void undo_claim_end(struct transaction *t, bool unbound)
{
        struct undo_claim *g = &t->undo;
        struct awake deadline;

        /* A child that hangs is waited for only if the unbind has ended its open. */
        for (size_t i = 0; g->children && i < g->disk.n_luns; i++)
                undo_child_dismiss(&g->children[i], unbound || !g->children[i].hangs);
        deadline = awake_in(LET_GO_BUDGET);
        while (unbound && g->readers > 0 && awake_left(deadline) > 0) {
                (void) poll(NULL, 0, LOOK_AGAIN_MSEC);
                (void) count_readers(t, &g->readers);
        }
        free(g->children);
        usb_disk_done(&g->disk);
        *g = (struct undo_claim){.active = false};
}
