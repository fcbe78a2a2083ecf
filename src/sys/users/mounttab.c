/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/users/mounttab.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <libmount/libmount.h>

#include "common/util.h"

/*
 * libmount brings libblkid, libselinux and libpcre2 along, which take longer to start than `uasctl list` takes for all it
 * has to do. It is fetched where a table is read, once.
 */
#define LIBMOUNT "libmount.so.1"

static struct {
        void *library;
        typeof(mnt_new_table) *new_table;
        typeof(mnt_unref_table) *unref_table;
        typeof(mnt_table_parse_stream) *table_parse_stream;
        typeof(mnt_table_next_fs) *table_next_fs;
        typeof(mnt_new_iter) *new_iter;
        typeof(mnt_free_iter) *free_iter;
        typeof(mnt_fs_get_srcpath) *fs_get_srcpath;
        typeof(mnt_fs_get_target) *fs_get_target;
        typeof(mnt_fs_get_devno) *fs_get_devno;
        typeof(mnt_fs_get_id) *fs_get_id;
} mnt;

static int fetch(void)
{
        static const struct {
                const char *name;
                void *to;
        } symbols[] = {
                { "mnt_new_table", &mnt.new_table },
                { "mnt_unref_table", &mnt.unref_table },
                { "mnt_table_parse_stream", &mnt.table_parse_stream },
                { "mnt_table_next_fs", &mnt.table_next_fs },
                { "mnt_new_iter", &mnt.new_iter },
                { "mnt_free_iter", &mnt.free_iter },
                { "mnt_fs_get_srcpath", &mnt.fs_get_srcpath },
                { "mnt_fs_get_target", &mnt.fs_get_target },
                { "mnt_fs_get_devno", &mnt.fs_get_devno },
                { "mnt_fs_get_id", &mnt.fs_get_id },
        };
        void *library;

        if (mnt.library)
                return 0;
        library = dlopen(LIBMOUNT, RTLD_LAZY | RTLD_LOCAL);
        if (!library)
                return -ELIBACC;
        for (size_t i = 0; i < ELEMENTSOF(symbols); i++) {
                void *symbol = dlsym(library, symbols[i].name);

                if (!symbol) {
                        (void) dlclose(library);
                        return -ELIBBAD;
                }
                memcpy(symbols[i].to, &symbol, sizeof(symbol));
        }
        mnt.library = library;
        return 0;
}

static FILE *open_table(int dirfd, const char *path)
{
        int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
        FILE *f = fd < 0 ? NULL : fdopen(fd, "re");

        if (!f)
                (void) close_keep_errno(fd);
        return f;
}

static int each(struct libmnt_table *t, int (*fn)(const struct mount_line *, void *), void *data)
{
        struct libmnt_iter *i = mnt.new_iter(MNT_ITER_FORWARD);
        struct libmnt_fs *fs;
        int k = 0;

        if (!i)
                return -ENOMEM;
        while (k >= 0 && mnt.table_next_fs(t, i, &fs) == 0)
                k = fn(&(struct mount_line){ mnt.fs_get_srcpath(fs), mnt.fs_get_target(fs), mnt.fs_get_devno(fs), mnt.fs_get_id(fs) }, data);
        mnt.free_iter(i);
        return k < 0 ? k : 0;
}

int mount_lines(int dirfd, const char *path, const char *format, int (*fn)(const struct mount_line *line, void *data), void *data)
{
        _cleanup_fclose_ FILE *f = open_table(dirfd, path);
        struct libmnt_table *t;
        int k;

        if (!f)
                return -errno;
        k = fetch();
        if (k < 0)
                return k;
        t = mnt.new_table();
        if (!t)
                return -ENOMEM;
        k = mnt.table_parse_stream(t, f, format);
        if (k == 0)
                k = each(t, fn, data);
        else if (k > 0)
                k = -EBADMSG;
        mnt.unref_table(t);
        return k;
}
