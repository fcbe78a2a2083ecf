/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "common/names.h"
#include "sys/fingerprint.h"
#include "sys/marks.h"
#include "sys/sysfs.h"
#include "sys/trial.h"
#include "switch/transaction.h"

/* What the child has to say. */
struct answer {
        int error;
        char text[200];
};

static void answer_with(struct answer *a, int error, const char *text)
{
        a->error = error;
        (void) copy_string(a->text, sizeof(a->text), text);
}

static void compare(struct transaction *t, const struct claim *c, uint64_t deadline, struct answer *a)
{
        _cleanup_free_ char *now = NULL;
        char difference[160];
        int r = fingerprint_read(c, &now);

        if (r < 0) {
                answer_with(a, r, "the disk cannot be read");
                return;
        }
        if (t->fingerprint && !fingerprint_same(t->fingerprint, now, difference, sizeof(difference))) {
                a->error = -EUCLEAN;
                (void) snprintf(a->text, sizeof(a->text), "another disk shows: %s", difference);
                return;
        }
        r = trial_reads(&t->roots, c, deadline);
        if (r == -ETIMEDOUT)
                answer_with(a, r, "reads at full depth are not answered in time");
        else if (r < 0)
                answer_with(a, r, "reads at full depth fail");
}

static void examine(struct transaction *t, uint64_t deadline, struct answer *a)
{
        struct usb_disk now = { 0 };
        struct claim c = CLAIM_NULL;
        char busy[BLOCK_NAME_MAX];
        int r = usb_disk_read(&t->roots, t->interface, true, &now);

        if (r <= 0) {
                answer_with(a, r < 0 ? r : -ENODEV, "the disk has gone");
                return;
        }
        if (!streq(now.facts.serial, t->serial)) {
                answer_with(a, -EUCLEAN, "the USB serial is another one");
                return;
        }
        r = claim_take(&t->roots, now.luns, now.n_luns, &c, busy);
        if (r == -EBUSY)
                a->error = r;
        else if (r < 0)
                answer_with(a, r, "the disk cannot be opened");
        else
                compare(t, &c, deadline, a);
}

static void in_child(struct transaction *t, uint64_t deadline, int out)
{
        struct answer a = { 0 };

        /* A child that hangs is left behind: the lock must not be. */
        t->lock = close_keep_errno(t->lock);
        examine(t, deadline, &a);
        (void) !write(out, &a, sizeof(a));
        _exit(0);
}

/*
 * The child may sit in open(2) or at its exit for as long as the kernel waits for the device; it is not waited
 * for: the unbind of the roll-back fails its commands, and then it goes.
 */
int verify(struct transaction *t, uint64_t deadline)
{
        struct answer a = { 0 };
        uint64_t now;
        int pipe_fd[2], left;
        pid_t pid;
        ssize_t n = 0;

        if (pipe2(pipe_fd, O_CLOEXEC) < 0)
                return tx_fail(t, UASD_EXIT_ROLLED_BACK, -errno, "no pipe: %s", strerror(errno));
        pid = fork();
        if (pid == 0)
                in_child(t, deadline, pipe_fd[1]);
        (void) close(pipe_fd[1]);
        now = now_boottime();
        left = deadline > now ? (int) ((deadline - now) / USEC_PER_MSEC) + 1 : 0;
        if (pid > 0 && poll(&(struct pollfd){ pipe_fd[0], POLLIN, 0 }, 1, left) > 0)
                n = read(pipe_fd[0], &a, sizeof(a));
        else
                answer_with(&a, -ETIMEDOUT, "the disk does not answer in time");
        if (n != sizeof(a) && a.error == 0)
                answer_with(&a, -EIO, "its examination ended early");
        (void) close(pipe_fd[0]);
        if (pid > 0) {
                (void) kill(pid, SIGKILL);
                if (a.error != -ETIMEDOUT)
                        (void) waitpid(pid, NULL, 0);
        }
        if (a.error == 0 || a.error == -EBUSY)
                return a.error;
        return tx_fail(t, UASD_EXIT_ROLLED_BACK, a.error, "under %s %s: %s", driver_to_string(t->to), a.text,
                       strerror(-a.error));
}
