/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/io/sysfs.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>

#include "common/util.h"

ssize_t attr_read_binary(int dirfd, const char *path, void *ret, size_t size)
{
        _cleanup_close_ int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

        if (fd < 0)
                return -errno;
        return read_full(fd, ret, size);
}

ssize_t attr_read(int dirfd, const char *path, char *ret, size_t size)
{
        ssize_t n = attr_read_binary(dirfd, path, ret, size - 1);

        if (n < 0)
                return n;
        if (n > 0 && ret[n - 1] == '\n')
                n--;
        ret[n] = '\0';
        return n;
}

int attr_read_uint(int dirfd, const char *path, unsigned base, uint64_t *ret)
{
        char text[64], *s = text;
        unsigned long long v;
        ssize_t n;
        int r;

        n = attr_read(dirfd, path, text, sizeof(text));
        if (n < 0)
                return (int) n;
        while (*s == ' ') /* bAlternateSetting is "%2d", version has a leading space */
                s++;
        if (base == 16 && s[0] == '0' && s[1] == 'x') /* iodone_cnt is "0x%x" */
                s += 2;
        r = parse_uint(s, base, UINT64_MAX, &v);
        if (r < 0)
                return r;
        *ret = v;
        return 0;
}

int attr_read_devno(int dirfd, const char *path, unsigned *ret_major, unsigned *ret_minor)
{
        unsigned numbers[2];
        char text[32];
        ssize_t n = attr_read(dirfd, path, text, sizeof(text));

        if (n < 0)
                return (int) n;
        if (!parse_numbers(text, ':', numbers, ELEMENTSOF(numbers)))
                return -EBADMSG;
        *ret_major = numbers[0];
        *ret_minor = numbers[1];
        return 0;
}

int attr_write(int dirfd, const char *path, const char *text)
{
        _cleanup_close_ int fd =
                openat(dirfd, path,
                       O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOCTTY); /* O_TRUNC: as a shell does */
        size_t length = strlen(text);
        ssize_t n;

        if (fd < 0)
                return -errno;
        /* One write, not repeated at EINTR: the kernel may have executed a part of it. */
        n = write(fd, text, length);
        if (n < 0)
                return -errno;
        if ((size_t) n != length)
                return -EIO;
        return 0;
}

ssize_t link_basename(int dirfd, const char *path, char *ret, size_t size)
{
        char target[PATH_MAX];
        const char *base;
        ssize_t n = readlinkat(dirfd, path, target, sizeof(target) - 1);

        if (n < 0)
                return -errno;
        target[n] = '\0';
        base = strrchr(target, '/');
        if (!copy_string(ret, size, base ? base + 1 : target))
                return -ENAMETOOLONG;
        return (ssize_t) strlen(ret);
}

static int names_compare(const void *a, const void *b)
{
        return strcmp(*(char *const *) a, *(char *const *) b);
}

static int dir_read_names(DIR *d, const char *prefix, char ***names, size_t *n)
{
        size_t length = strlen(prefix); /* counted once: there may be thousands of names */

        for (;;) {
                struct dirent *e;

                errno = 0;
                e = readdir(d);
                if (!e)
                        return -errno;
                if (e->d_name[0] == '.' || strncmp(e->d_name, prefix, length) != 0)
                        continue;
                if (strv_push(names, n, e->d_name) < 0)
                        return -ENOMEM;
        }
}

int dir_list(int dirfd, const char *path, const char *prefix, char ***ret)
{
        _cleanup_strv_ char **names = NULL;
        int fd = openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), r;
        size_t n = 0;
        DIR *d;

        if (fd < 0)
                return -errno;
        d = fdopendir(fd);
        if (!d) {
                (void) close_keep_errno(fd);
                return -errno;
        }
        r = dir_read_names(d, prefix, &names, &n);
        (void) closedir(d);
        if (r < 0)
                return r;
        if (n)
                qsort(names, n, sizeof(*names), names_compare);
        *ret = TAKE_PTR(names);
        return (int) n;
}

int dir_each(int dirfd, const char *path, int (*fn)(const char *name, void *data), void *data)
{
        _cleanup_strv_ char **names = NULL;
        int n = dir_list(dirfd, path, "", &names);

        if (n < 0)
                return n;
        for (char **name = names; name && *name; name++) {
                int r = fn(*name, data);

                if (r != 0)
                        return r;
        }
        return 0;
}

/* Calls fn for the file of this name in the first directory that has it. */
static int dropin_first(const struct dropin_dir *dirs, size_t n, const char *name,
                        int (*fn)(int root, const char *path, void *data), void *data)
{
        for (size_t i = 0; i < n; i++) {
                const char *path = path_join(dirs[i].path, "/", name);

                if (faccessat(dirs[i].root, path, F_OK, 0) >= 0)
                        return fn(dirs[i].root, path, data);
        }
        return 0;
}

int dropins_of(const struct dropin_dir *dirs, size_t n, const char *suffix,
               int (*fn)(int root, const char *path, void *data), void *data)
{
        _cleanup_strv_ char **names = NULL;
        size_t n_names = 0;

        for (size_t i = 0; i < n; i++) {
                _cleanup_strv_ char **here = NULL;
                int n_here = dir_list(dirs[i].root, dirs[i].path, "", &here);

                for (char **name = here; name && *name; name++)
                        if (endswith(*name, suffix) && strv_push(&names, &n_names, *name) < 0)
                                return -ENOMEM;
                if (n_here == -ENOMEM)
                        return n_here;
        }
        if (n_names)
                qsort(names, n_names, sizeof(*names), names_compare);
        for (size_t i = 0; i < n_names; i++) {
                int r;

                if (i > 0 && streq(names[i], names[i - 1]))
                        continue;
                r = dropin_first(dirs, n, names[i], fn, data);
                if (r < 0)
                        return r;
        }
        return 0;
}

int dropins_each(const struct roots *roots, const char *dir,
                 int (*fn)(int root, const char *path, void *data), void *data)
{
        return dropins_of((const struct dropin_dir[]){{roots->etc, dir}, {roots->lib, dir}}, 2,
                          ".conf", fn, data);
}
