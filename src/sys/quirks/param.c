/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/quirks/param.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "common/names.h"
#include "common/util.h"
#include "sys/io/clock.h"
#include "sys/io/statefile.h"
#include "sys/io/sysfs.h"

int quirks_lock(const struct roots *r, usec_t usec)
{
        struct awake deadline = awake_in(usec);
        _cleanup_close_ int fd = -1;
        int k = state_mkdir(r->run, RUN_DIR);

        if (k < 0)
                return k;
        fd = openat(r->run, RUN_QUIRKS_LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
                return -errno;
        /* Binds hold the lock for milliseconds: polling costs less than a timer. */
        while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
                if (errno != EWOULDBLOCK)
                        return -errno;
                if (awake_left(deadline) == 0)
                        return -ETIMEDOUT;
                (void) poll(NULL, 0, 5);
        }
        (void) quirks_bind_end(r);
        return TAKE_FD(fd);
}

int quirks_param_read(const struct roots *r, char ret[static QUIRKS_MAX + 1])
{
        ssize_t n = attr_read(r->sys, SYSFS_QUIRKS, ret, QUIRKS_MAX + 1);

        return n < 0 ? (int) n : 0;
}

uint64_t quirks_param_inode(const struct roots *r)
{
        struct stat st;

        return fstatat(r->sys, SYSFS_QUIRKS, &st, 0) < 0 ? 0 : st.st_ino;
}

static int write_string(const struct roots *r, const char *text)
{
        char now[QUIRKS_MAX + 1];
        int k;

        /* A write of no bytes never reaches the kernel; a single newline empties the string. */
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
                /* Another process wrote at the same time and kept our entry. One is enough, since it is removed only once. */
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

static int take_entry(const char *key, const char *value, void *data)
{
        if (streq(key, KEY_ENTRY))
                (void) copy_string(data, QUIRK_ENTRY_MAX, value);
        return 0;
}

int quirks_bind_read(const struct roots *r, char ret[static QUIRK_ENTRY_MAX])
{
        int k;

        ret[0] = '\0';
        k = state_read(r->run, RUN_QUIRKS_BIND, take_entry, ret);
        return k < 0 ? k : ret[0] != '\0';
}

int quirks_bind_begin(const struct roots *r, const char *entry)
{
        char text[QUIRK_ENTRY_MAX + 16], left[QUIRK_ENTRY_MAX];
        int k = quirks_bind_read(r, left);

        if (k != 0)
                return k < 0 ? k : -EBUSY;
        (void) snprintf(text, sizeof(text), KEY_ENTRY "=%s\n", entry);
        k = state_write(r->run, RUN_QUIRKS_BIND, text, false);
        return k < 0 ? k : quirks_param_push(r, entry);
}

int quirks_bind_end(const struct roots *r)
{
        char entry[QUIRK_ENTRY_MAX];
        int k = quirks_bind_read(r, entry);

        if (k <= 0)
                return k;
        k = quirks_param_pop(r, entry);
        if (k == -ENOENT && faccessat(r->sys, SYSFS_QUIRKS, F_OK, 0) < 0) /* its module was unloaded */
                k = 0;
        return k < 0 ? k : state_remove(r->run, RUN_QUIRKS_BIND);
}
