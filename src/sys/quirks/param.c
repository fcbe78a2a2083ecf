/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/quirks/quirks.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "common/names.h"
#include "common/util.h"
#include "sys/io/clock.h"
#include "sys/io/record.h"
#include "sys/io/statefile.h"
#include "sys/io/sysfs.h"

int quirks_lock(const struct roots *r, usec_t usec)
{
        int fd = state_lock(r->run, RUN_QUIRKS_LOCK, awake_in(usec));

        if (fd >= 0)
                (void) quirks_bind_end(r);
        return fd;
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

/* The file with our entry for a bind. */
struct bind_record {
        char entry[QUIRK_ENTRY_MAX];
};
static const struct state_type bind_type = {
        (const struct state_field[]){STATE_FIELD("ENTRY", VALUE_TEXT, bind_record, entry)},
        .n = 1,
};

int quirks_bind_read(const struct roots *r, char ret[static QUIRK_ENTRY_MAX])
{
        struct bind_record b = {};
        int k = state_load(r->run, RUN_QUIRKS_BIND, &bind_type, &b);

        memcpy(ret, b.entry, sizeof(b.entry));
        return k < 0 ? k : b.entry[0] != '\0';
}

int quirks_bind_begin(const struct roots *r, const char *entry)
{
        struct bind_record b = {};
        int k = quirks_bind_read(r, b.entry);

        if (k != 0)
                return k < 0 ? k : -EBUSY;
        (void) copy_string(b.entry, sizeof(b.entry), entry);
        k = state_store(r->run, RUN_QUIRKS_BIND, &bind_type, &b);
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
