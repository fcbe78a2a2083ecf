/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The least that can tell of an umount: poll(2) on mountinfo, and the time (CLOCK_MONOTONIC, usec).
 *
 *   mountloop watch        prints "event USEC" at every change
 *   mountloop umount DIR   unmounts it and prints "umount USEC USEC": when it was called, and when it returned
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <time.h>

static unsigned long long now(void)
{
        struct timespec ts;

        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (unsigned long long) ts.tv_sec * 1000000 + (unsigned long long) ts.tv_nsec / 1000;
}

int main(int argc, char *argv[])
{
        if (argc == 3 && strcmp(argv[1], "umount") == 0) {
                unsigned long long called = now();

                if (umount2(argv[2], 0) < 0)
                        return 1;
                printf("umount %llu %llu\n", called, now());
                return 0;
        }
        struct pollfd p = {open("/proc/1/mountinfo", O_RDONLY | O_CLOEXEC), POLLPRI, 0};
        while (p.fd >= 0 && poll(&p, 1, -1) > 0) {
                printf("event %llu\n", now());
                fflush(stdout);
        }
        return 1;
}
