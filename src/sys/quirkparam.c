/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/quirkparam.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>

#include "common/names.h"
#include "common/util.h"
#include "sys/marks.h"
#include "sys/statefile.h"
#include "sys/sysfs.h"

int quirks_lock(const struct roots *r, uint64_t deadline)
{
        _cleanup_close_ int fd = -1;
        int k = state_mkdir(r->run, RUN_DIR);

        if (k < 0)
                return k;
        fd = openat(r->run, RUN_QUIRKS_LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
                return -errno;
        /* Held for the milliseconds of a bind: asking again costs less than a timer. */
        while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
                if (errno != EWOULDBLOCK)
                        return -errno;
                if (now_boottime() >= deadline)
                        return -ETIMEDOUT;
                (void) poll(NULL, 0, 5);
        }
        return TAKE_FD(fd);
}

int quirks_param_read(const struct roots *r, char ret[static QUIRKS_MAX + 1])
{
        ssize_t n = attr_read(r->sys, SYSFS_QUIRKS, ret, QUIRKS_MAX + 1);

        return n < 0 ? (int) n : 0;
}

static int write_string(const struct roots *r, const char *text)
{
        char now[QUIRKS_MAX + 1];
        int k;

        /* A write of no bytes never reaches the kernel: a lone newline empties the string. */
        k = attr_write(r->sys, SYSFS_QUIRKS, *text ? text : "\n");
        if (k >= 0)
                k = quirks_param_read(r, now);
        return k < 0 ? k : streq(now, text) ? 0 : -EAGAIN;
}

static int count(const char *string, const char *entry)
{
        char rest[QUIRKS_MAX + 1];
        int n = 0;

        (void) copy_string(rest, sizeof(rest), string);
        while (quirks_remove(rest, entry, rest) > 0)
                n++;
        return n;
}

int quirks_param_push(const struct roots *r, const char *entry)
{
        char old[QUIRKS_MAX + 1], new[QUIRKS_MAX + 1];
        int others = 0, k = 0;

        for (int tries = 0; tries < 5; tries++) {
                k = quirks_param_read(r, old);
                if (k >= 0 && tries == 0)
                        others = count(old, entry);
                /* Somebody wrote at the same time, and kept ours: once is enough, since it is taken out once. */
                if (k >= 0 && count(old, entry) > others)
                        (void) quirks_remove(old, entry, old);
                if (k >= 0)
                        k = quirks_prepend(old, entry, new);
                if (k >= 0)
                        k = write_string(r, new);
                if (k != -EAGAIN)
                        break;
        }
        return k;
}

int quirks_param_pop(const struct roots *r, const char *entry)
{
        char old[QUIRKS_MAX + 1], new[QUIRKS_MAX + 1];
        int k = 0;

        for (int tries = 0; tries < 5; tries++) {
                k = quirks_param_read(r, old);
                if (k >= 0)
                        k = quirks_remove(old, entry, new);
                if (k > 0)
                        k = write_string(r, new);
                if (k != -EAGAIN)
                        break;
        }
        return k;
}
