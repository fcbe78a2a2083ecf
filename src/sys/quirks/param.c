/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/quirks/param.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "common/names.h"
#include "common/util.h"
#include "sys/io/clock.h"
#include "sys/io/record.h"
#include "sys/io/statefile.h"
#include "sys/io/sysfs.h"

int quirks_lock(const struct roots *roots, usec_t usec)
{
        int fd = state_lock(roots->run, RUN_QUIRKS_LOCK, awake_in(usec));

        if (fd < 0)
                return fd;
        (void) quirks_bind_end(roots);
        return fd;
}

int quirks_param_read(const struct roots *roots, char ret[static QUIRKS_MAX + 1])
{
        ssize_t n = attr_read(roots->sys, SYSFS_QUIRKS, ret, QUIRKS_MAX + 1);

        if (n < 0)
                return (int) n;
        return 0;
}

uint64_t quirks_param_inode(const struct roots *roots)
{
        struct stat st;

        if (fstatat(roots->sys, SYSFS_QUIRKS, &st, 0) < 0)
                return 0;
        return st.st_ino;
}

static int quirks_param_write(const struct roots *roots, const char *text)
{
        char now[QUIRKS_MAX + 1];
        int r;

        /* A write of no bytes never reaches the kernel; a single newline empties the string. */
        r = attr_write(roots->sys, SYSFS_QUIRKS, *text ? text : "\n");
        if (r < 0)
                return r;
        r = quirks_param_read(roots, now);
        if (r < 0)
                return r;
        if (!streq(now, text))
                return -EAGAIN;
        return 0;
}

static int quirks_count(const char *string, const char *entry)
{
        char rest[QUIRKS_MAX + 1];
        int n = 0;

        (void) copy_string(rest, sizeof(rest), string);
        while (quirks_remove(rest, entry, rest) > 0)
                n++;
        return n;
}

#define TRIES 5 /* -EAGAIN: another process wrote at the same time */

int quirks_param_push(const struct roots *roots, const char *entry)
{
        char old[QUIRKS_MAX + 1], new[QUIRKS_MAX + 1];
        int others = -1 /* equal entries before the first try */, r = -EAGAIN;

        for (int tries = 0; r == -EAGAIN && tries < TRIES; tries++) {
                r = quirks_param_read(roots, old);
                if (r < 0)
                        return r;
                if (others < 0)
                        others = quirks_count(old, entry);
                /* Another process wrote at the same time and kept our entry. One is enough, since
                 * it is removed only once. */
                if (quirks_count(old, entry) > others)
                        (void) quirks_remove(old, entry, old);
                r = quirks_prepend(old, entry, new);
                if (r < 0)
                        return r;
                r = quirks_param_write(roots, new);
        }
        return r;
}

int quirks_param_pop(const struct roots *roots, const char *entry)
{
        char old[QUIRKS_MAX + 1], new[QUIRKS_MAX + 1];
        int r = -EAGAIN;

        for (int tries = 0; r == -EAGAIN && tries < TRIES; tries++) {
                r = quirks_param_read(roots, old);
                if (r < 0)
                        return r;
                r = quirks_remove(old, entry, new);
                if (r <= 0)
                        return r;
                r = quirks_param_write(roots, new);
        }
        return r;
}

/* The file with our entry for a bind. */
struct bind_record {
        char entry[QUIRK_ENTRY_MAX];
};
static const struct state_type bind_type = {
        (const struct state_field[]){STATE_FIELD("ENTRY", VALUE_TEXT, bind_record, entry)},
        .n = 1,
};

int quirks_bind_read(const struct roots *roots, char ret[static QUIRK_ENTRY_MAX])
{
        struct bind_record b = {};
        int r = state_load(roots->run, RUN_QUIRKS_BIND, &bind_type, &b);

        memcpy(ret, b.entry, sizeof(b.entry));
        if (r < 0)
                return r;
        return b.entry[0] != '\0';
}

int quirks_bind_begin(const struct roots *roots, const char *entry)
{
        struct bind_record b = {};
        int r = quirks_bind_read(roots, b.entry);

        if (r < 0)
                return r;
        if (r > 0)
                return -EBUSY;
        (void) copy_string(b.entry, sizeof(b.entry), entry);
        r = state_store(roots->run, RUN_QUIRKS_BIND, &bind_type, &b);
        if (r < 0)
                return r;
        return quirks_param_push(roots, entry);
}

int quirks_bind_end(const struct roots *roots)
{
        char entry[QUIRK_ENTRY_MAX];
        int r = quirks_bind_read(roots, entry);

        if (r <= 0)
                return r;
        r = quirks_param_pop(roots, entry);
        if (r == -ENOENT &&
            faccessat(roots->sys, SYSFS_QUIRKS, F_OK, 0) < 0) /* its module was unloaded */
                r = 0;
        if (r < 0)
                return r;
        return state_remove(roots->run, RUN_QUIRKS_BIND);
}
