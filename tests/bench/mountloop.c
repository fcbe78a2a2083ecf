/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The least that can notice a change of the mount table: poll(2) on mountinfo, and the time
 * (CLOCK_MONOTONIC, usec).
 *
 * mountloop watch DISK: prints "ready". At the first change it prints "event USEC", and "opened
 * USEC" when a process opens DISK. mountloop claim DISK: the same, but opens DISK itself. It tries
 * O_EXCL at the first change, and then each millisecond. mountloop umount DIR: unmounts it and
 * prints "umount USEC USEC". These are the times of the call and of its return. mountloop poll
 * TABLE: waits for changes of this table, and does nothing else. mountloop storm DIR [COUNT]:
 * mounts a tmpfs at DIR and unmounts it, 1,000 events a second for ten seconds. Prints "storm
 * EVENTS USEC". COUNT: the file of a reference count, which each event changes.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
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

static int only_poll(const char *path)
{
        struct pollfd table = {open(path, O_RDONLY | O_CLOEXEC), POLLPRI, 0};

        if (table.fd < 0)
                return 1;
        while (poll(&table, 1, -1) > 0)
                ;
        return 1;
}

#define STORM_EVENTS 10000
#define STORM_USEC 1000

static int storm(const char *dir, const char *count)
{
        unsigned long long began = now();
        int fd = count ? open(count, O_WRONLY | O_CLOEXEC) : -1;

        if (count && fd < 0)
                return 1;
        for (unsigned i = 0; i < STORM_EVENTS; i++) {
                unsigned long long next = began + (unsigned long long) i * STORM_USEC, at = now();
                bool mounts = i % 2 == 0;

                if (at < next)
                        usleep((useconds_t) (next - at));
                if (fd >= 0 && pwrite(fd, mounts ? "4" : "3", 1, 0) != 1)
                        return 1;
                if ((mounts ? mount("none", dir, "tmpfs", 0, NULL) : umount2(dir, 0)) < 0)
                        return 1;
        }
        printf("storm %i %llu\n", STORM_EVENTS, now() - began);
        return 0;
}

int main(int argc, char *argv[])
{
        unsigned long long called;

        if (argc > 2 && strcmp(argv[1], "storm") == 0)
                return storm(argv[2], argv[3]);
        if (argc != 3)
                return 2;
        if (strcmp(argv[1], "poll") == 0)
                return only_poll(argv[2]);
        if (strcmp(argv[1], "umount") != 0)
                return loop(argv[2], strcmp(argv[1], "claim") == 0);
        called = now();
        if (umount2(argv[2], 0) < 0)
                return 1;
        printf("umount %llu %llu\n", called, now());
        return 0;
}
