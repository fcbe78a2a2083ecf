/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <poll.h>
#include <sys/param.h>

#include "common/child.h"
#include "common/log.h"
#include "switch/child.h"
#include "switch/signals.h"
#include "switch/transaction.h"
#include "sys/state/switch-record.h"

/*
 * A claim may hang, so a child takes it. The child does not outlive the switch: no other process
 * would end it, and the disk could not be mounted. The child has its own lock on the lock file of
 * the record (sys/state/switch-record.h). When that lock is free, the child and all its open files
 * are gone.
 */

#define LEFT_TRIES 200 /* two seconds: a child that hangs in the kernel cannot be waited for */
#define LEFT_PAUSE_USEC 10000
#define LOOK_AGAIN_MSEC 200 /* how often to look for a signal */

pid_t switch_child(struct transaction *t, int *ret_fd)
{
        const int keep[] = {ROOTS_FDS(&t->roots)};
        pid_t pid = child_fork(keep, ELEMENTSOF(keep), ret_fd);

        if (pid != 0)
                return pid;
        t->lock = openat(t->roots.run, SWITCH_LOCK_PATH(t->interface),
                         O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (t->lock >= 0)
                (void) switch_lock_take(t->lock, SWITCH_LOCK_CHILDREN);
        return 0;
}

void children_end(const struct transaction *t)
{
        for (int tries = 0; tries < LEFT_TRIES; tries++) {
                if (!switch_lock_held(t->lock, SWITCH_LOCK_CHILDREN))
                        return;
                (void) usleep(LEFT_PAUSE_USEC);
        }
        log_warning("%s: a child of the switch before does not end", t->interface);
}

struct awake child_deadline(const struct transaction *t, usec_t budget)
{
        struct awake end = awake_in(budget);

        if (t->hold.deadline && t->hold.until.usec < end.usec)
                return t->hold.until;
        return end;
}

bool child_answers(int fd, struct awake deadline)
{
        int msec = (int) ((awake_left(deadline) + USEC_PER_MSEC - 1) / USEC_PER_MSEC),
            haste = HASTE_BUDGET / USEC_PER_MSEC, n;

        do {
                n = MIN(msec, LOOK_AGAIN_MSEC);
                if (poll(&(struct pollfd){fd, POLLIN, 0}, 1, n) > 0)
                        return true;
                msec -= n;
                if (signal_waits())
                        haste -= n;
        } while (msec > 0 && haste > 0);
        return false;
}

int child_read(int fd, void *ret, size_t size, struct awake deadline)
{
        if (!child_answers(fd, deadline))
                return 0;
        return read(fd, ret, size) == (ssize_t) size ? 1 : -ECANCELED;
}
