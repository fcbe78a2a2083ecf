/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/io/lock.h"

#include <errno.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/time.h>

#include "common/util.h"
#include "sys/io/clock.h"

static void on_alarm(int signal)
{
}

/* Blocks in flock(2), without polling. The timer repeats, in case a tick comes between the check and flock(2). */
int lock_until(int fd, struct awake deadline)
{
        const struct sigaction act = {.sa_handler = on_alarm};
        struct itimerval timer = {.it_interval.tv_usec = 50000}, off = {0};
        struct sigaction before;
        usec_t left;
        int r = 0;

        if (flock(fd, LOCK_EX | LOCK_NB) >= 0)
                return 0;
        if (errno != EWOULDBLOCK)
                return -errno;
        left = awake_left(deadline);
        if (left == 0)
                return -ETIMEDOUT;
        timer.it_value.tv_sec = (time_t) (left / USEC_PER_SEC);
        timer.it_value.tv_usec = (suseconds_t) (left % USEC_PER_SEC) + 1;
        (void) sigaction(SIGALRM, &act, &before);
        (void) setitimer(ITIMER_REAL, &timer, NULL);
        while (flock(fd, LOCK_EX) < 0) {
                r = errno != EINTR ? -errno : awake_left(deadline) == 0 ? -ETIMEDOUT : 0;
                if (r < 0)
                        break;
        }
        (void) setitimer(ITIMER_REAL, &off, NULL);
        (void) sigaction(SIGALRM, &before, NULL);
        return r;
}
