/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "common/util.h"
#include "switch/transaction.h"
#include "sys/io/clock.h"
#include "sys/users/users.h"

#define UNDO_CLAIM_MSEC 2000 /* for the first LUN whose open hangs */
#define HASTE_MSEC 100       /* then for each other LUN: a healthy one needs a few msec */
#define UNDO_CLAIM_TRIES 3
#define LET_GO_BUDGET USEC_PER_SEC
#define LOOK_AGAIN_MSEC 50

/* The child claims the LUN and answers. When its parent sends a word, it syncs the LUN and answers again. */
static void hold_claim(struct transaction *t, const struct lun *l, int fd)
{
        struct claim c = CLAIM_NULL;
        char busy[BLOCK_NAME_MAX];
        int r = claim_take(&t->roots, l, 1, &c, busy);

        (void) !write(fd, &r, sizeof(r));
        if (r >= 0 && read(fd, &r, sizeof(r)) == sizeof(r)) {
                r = claim_sync(&c, busy);
                (void) !write(fd, &r, sizeof(r));
        }
        (void) pause();
        _exit(0);
}

static bool is_ours(const struct transaction *t, pid_t pid)
{
        bool ours = t->examiner > 0 && pid == t->examiner;

        for (size_t i = 0; t->undo.children && i < t->undo.disk.n_luns; i++)
                ours = ours || (pid > 0 && pid == t->undo.children[i].pid);
        return ours;
}

/*
 * Some processes have the disk open and do not count as users: the switch's own children, udev's workers, and the examination of
 * a killed switch. The latter stays until its reads at full depth are answered.
 */
static bool is_reader(const struct transaction *t, const struct user *u)
{
        if (u->kind == USER_OPEN && u->command && streq(u->command, "uasd-switch") &&
            (!u->unit || streq(u->unit, "uasd.service")))
                return true;
        return user_is_udev(u) || is_ours(t, u->pid);
}

/* Counts the processes that do not count as users. Returns 0, -EBUSY, or -errno if unknown. */
static int look(const struct transaction *t, size_t *ret_readers)
{
        return count_exempt(t, &t->undo.disk, is_reader, ret_readers);
}

static void dismiss(struct undo_claim_child *c, bool wait)
{
        if (c->pid > 0) {
                (void) kill(c->pid, SIGKILL);
                if (wait)
                        (void) waitpid(c->pid, NULL, 0);
                (void) close(c->fd);
        }
        *c = (struct undo_claim_child){.pid = 0};
}

/*
 * Waits for an answer of a child. While an open hangs, no other process can claim the disk: the kernel gives the claim to the
 * first caller, before it opens the device (block/bdev.c:bd_prepare_to_claim). msec: how long to wait. Returns 0 also if the open
 * hangs.
 */
static int answer(struct undo_claim_child *c, int *msec)
{
        int r = -ECANCELED, k = poll(&(struct pollfd){c->fd, POLLIN, 0}, 1, *msec);

        if (k == 0) {
                *msec = HASTE_MSEC;
                c->hangs = true;
                return 0;
        }
        return k > 0 && read(c->fd, &r, sizeof(r)) == sizeof(r) ? r : -ECANCELED; /* the child was killed */
}

static int claim_lun(struct transaction *t, size_t i, int *msec)
{
        struct undo_claim_child *c = &t->undo.children[i];
        const struct lun *l = &t->undo.disk.luns[i];
        pid_t self = getpid();
        int fds[2], r;

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
                return -errno;
        c->pid = fork();
        if (c->pid == 0) {
                child_begin(t, self, fds[0]);
                hold_claim(t, l, fds[1]);
        }
        r = c->pid < 0 ? -errno : 0;
        (void) close(fds[1]);
        c->fd = fds[0];
        if (r < 0) {
                (void) close(fds[0]);
                return r;
        }
        r = answer(c, msec);
        if (r < 0)
                dismiss(c, true);
        return r < 0 && r != -EBUSY && lun_offline(t, t->undo.disk.host, l) ? 0 : r;
}

/* No process should have written to it yet. If one did, the data must not be lost. */
static void sync_lun(struct undo_claim_child *c, int *msec)
{
        int go = 0;

        if (c->pid && !c->hangs && send(c->fd, &go, sizeof(go), MSG_NOSIGNAL) == sizeof(go))
                (void) answer(c, msec);
}

static int take(struct transaction *t)
{
        struct undo_claim *g = &t->undo;
        int r = usb_disk_read(&t->roots, t->interface, false, &g->disk), msec = UNDO_CLAIM_MSEC;

        if (r == 0 || r == -ENODEV) /* gone */
                return 0;
        if (r < 0)
                return r;
        if (g->disk.n_luns == 0)
                return 0;
        g->children = calloc(g->disk.n_luns + 1, sizeof(*g->children));
        if (!g->children)
                return -ENOMEM;
        r = look(t, &g->readers);
        for (size_t i = 0; r >= 0 && i < g->disk.n_luns; i++)
                if (g->disk.luns[i].disk.name[0])
                        r = claim_lun(t, i, &msec);
        /* A process may have opened it before it was claimed, or while the open of another LUN was waited for. */
        if (r >= 0)
                r = look(t, &g->readers);
        for (size_t i = 0; r >= 0 && i < g->disk.n_luns; i++)
                sync_lun(&g->children[i], &msec);
        return r;
}

int undo_claim_begin(struct transaction *t)
{
        int r = -ECANCELED;

        /* A failure of uasd-switch itself is not the fault of the disk: it is tried again. */
        for (int tries = 0; tries < UNDO_CLAIM_TRIES && r < 0 && r != -EBUSY; tries++) {
                r = take(t);
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

        return lun_among(l, g->disk.luns, g->disk.n_luns, &i) && g->children[i].pid > 0;
}

void undo_claim_end(struct transaction *t, bool unbound)
{
        struct undo_claim *g = &t->undo;
        struct awake deadline;

        /* A child that hangs is waited for only if the unbind has ended its open. */
        for (size_t i = 0; g->children && i < g->disk.n_luns; i++)
                dismiss(&g->children[i], unbound || !g->children[i].hangs);
        deadline = awake_in(LET_GO_BUDGET);
        while (unbound && g->readers > 0 && awake_left(deadline) > 0) {
                (void) poll(NULL, 0, LOOK_AGAIN_MSEC);
                (void) look(t, &g->readers);
        }
        free(g->children);
        usb_disk_done(&g->disk);
        *g = (struct undo_claim){.active = false};
}
