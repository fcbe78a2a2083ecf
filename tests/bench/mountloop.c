/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The least that can tell of an umount: poll(2) on mountinfo, and the time (CLOCK_MONOTONIC, usec).
 *
 * mountloop watch DISK: prints "ready". At the first change it prints "event USEC", and "opened USEC" when a process opens DISK.
 * mountloop claim DISK: the same, but opens DISK itself. It tries O_EXCL at the first change, and then each millisecond.
 * mountloop umount DIR: unmounts it and prints "umount USEC USEC". These are the times of the call and of its return.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <time.h>
#include <unistd.h>

static unsigned long long now(void)
{
        struct timespec ts;

        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (unsigned long long) ts.tv_sec * 1000000 + (unsigned long long) ts.tv_nsec / 1000;
}

static int loop(const char *disk, int claim)
{
        unsigned long long event, opened;
        struct pollfd table = {open("/proc/1/mountinfo", O_RDONLY | O_CLOEXEC), POLLPRI, 0};
        char bytes[4096];
        int opens = inotify_init1(IN_CLOEXEC);

        if (table.fd < 0 || opens < 0 || read(table.fd, bytes, 1) != 1)
                return 1;
        if (!claim && inotify_add_watch(opens, disk, IN_OPEN) < 0)
                return 1;
        puts("ready");
        fflush(stdout);
        poll(&table, 1, -1);
        event = now();
        while (claim && open(disk, O_RDONLY | O_EXCL | O_CLOEXEC) < 0)
                usleep(1000);
        if (!claim && read(opens, bytes, sizeof(bytes)) <= 0)
                return 1;
        opened = now();
        printf("event %llu\nopened %llu\n", event, opened);
        fflush(stdout);
        return 0;
}

int main(int argc, char *argv[])
{
        unsigned long long called;

        if (argc != 3)
                return 2;
        if (strcmp(argv[1], "umount") != 0)
                return loop(argv[2], strcmp(argv[1], "claim") == 0);
        called = now();
        if (umount2(argv[2], 0) < 0)
                return 1;
        printf("umount %llu %llu\n", called, now());
        return 0;
}
