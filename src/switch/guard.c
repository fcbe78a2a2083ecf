/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "common/util.h"
#include "sys/marks.h"
#include "sys/users.h"
#include "switch/transaction.h"

#define GUARD_MSEC 2000
#define LET_GO_BUDGET USEC_PER_SEC
#define LOOK_AGAIN_MSEC 50

static void hold_claim(struct transaction *t, const struct usb_disk *d, int out)
{
        struct claim c = CLAIM_NULL;
        char busy[BLOCK_NAME_MAX];
        int r;

        r = claim_take(&t->roots, d->luns, d->n_luns, &c, busy);
        if (r >= 0) /* nobody should have written to it yet; who did all the same shall not lose it */
                (void) claim_sync(&c, busy);
        (void) !write(out, &r, sizeof(r));
        (void) pause();
        _exit(0);
}

/*
 * Of those who have it open, who does not count: its examination (or that of one who was killed), which stays until its reads at full
 * depth are answered, and udev's workers.
 */
static bool is_reader(const struct user *u)
{
        if (u->kind == USER_OPEN && u->command && streq(u->command, "uasd-switch") && (!u->unit || streq(u->unit, "uasd.service")))
                return true;
        return user_is_udev(u);
}

/* How many use it, of them `ret_readers` that do not count. Returns -errno if that cannot be known. */
static int count_users(const struct transaction *t, const struct usb_disk *d, size_t *ret_readers)
{
        struct user *users = NULL;
        size_t n = 0;
        int r = users_find(&t->roots, d->luns, d->n_luns, true, &users, &n);

        *ret_readers = 0;
        for (size_t i = 0; i < n; i++)
                *ret_readers += is_reader(&users[i]) || (t->examiner > 0 && users[i].pid == t->examiner);
        users_free(users, n);
        return r < 0 ? r : (int) n;
}

int guard_begin(struct transaction *t, struct usb_disk *ret)
{
        pid_t self = getpid();
        int pipe_fd[2], r;
        size_t readers;

        t->guard = 0;
        if (usb_disk_read(&t->roots, t->interface, false, ret) <= 0 || disks_count(ret) == 0) {
                usb_disk_done(ret);
                return 0;
        }
        r = count_users(t, ret, &readers);
        r = r < 0 || (size_t) r > readers ? -EBUSY : 0; /* not knowing is not being free */
        if (r >= 0 && pipe2(pipe_fd, O_CLOEXEC) >= 0) {
                t->guard = fork();
                if (t->guard == 0) {
                        child_begin(t, self, pipe_fd[0]);
                        hold_claim(t, ret, pipe_fd[1]);
                }
                (void) close(pipe_fd[1]);
                if (poll(&(struct pollfd){ pipe_fd[0], POLLIN, 0 }, 1, GUARD_MSEC) <= 0 ||
                    read(pipe_fd[0], &r, sizeof(r)) != sizeof(r))
                        r = -ETIMEDOUT;
                (void) close(pipe_fd[0]);
        }
        if (r < 0)
                guard_end(t, r != -ETIMEDOUT);
        if (readers == 0) /* none to be waited for */
                usb_disk_done(ret);
        return r == -EBUSY ? r : 0;
}

void guard_end(struct transaction *t, bool wait)
{
        if (t->guard <= 0)
                return;
        (void) kill(t->guard, SIGKILL);
        if (wait)
                (void) waitpid(t->guard, NULL, 0);
        t->guard = 0;
}

void guard_let_go(const struct transaction *t, const struct usb_disk *d)
{
        struct awake deadline = awake_in(LET_GO_BUDGET);
        size_t readers;

        while (d->n_luns > 0 && count_users(t, d, &readers) > 0 && readers > 0 && awake_left(deadline) > 0)
                (void) poll(NULL, 0, LOOK_AGAIN_MSEC);
}
