/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "sys/users.h"
#include "switch/transaction.h"

#define GUARD_MSEC 2000

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

int guard_begin(struct transaction *t)
{
        struct usb_disk now = { 0 };
        struct user *users = NULL;
        size_t n = 0;
        pid_t self = getpid();
        int pipe_fd[2], r = 0;

        t->guard = 0;
        if (usb_disk_read(&t->roots, t->interface, false, &now) <= 0 || disks_count(&now) == 0) {
                usb_disk_done(&now);
                return 0;
        }
        if (users_find(&t->roots, now.luns, now.n_luns, true, &users, &n) < 0 || n > 0)
                r = -EBUSY; /* not knowing is not being free */
        users_free(users, n);
        if (r >= 0 && pipe2(pipe_fd, O_CLOEXEC) >= 0) {
                t->guard = fork();
                if (t->guard == 0) {
                        child_begin(t, self, pipe_fd[0]);
                        hold_claim(t, &now, pipe_fd[1]);
                }
                (void) close(pipe_fd[1]);
                if (poll(&(struct pollfd){ pipe_fd[0], POLLIN, 0 }, 1, GUARD_MSEC) <= 0 ||
                    read(pipe_fd[0], &r, sizeof(r)) != sizeof(r))
                        r = -ETIMEDOUT;
                (void) close(pipe_fd[0]);
        }
        usb_disk_done(&now);
        if (r < 0)
                guard_end(t, r != -ETIMEDOUT);
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
