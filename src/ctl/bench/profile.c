/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/bench/profile.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>

#include "common/names.h"
#include "common/util.h"

#define NAME_LENGTH_MAX 64
#define FILE_SIZE_MAX (256 * 1024)

/* Where profiles are, the nearer word first. */
struct place {
        int root;
        const char *dir;
};

static size_t places(const struct roots *r, struct place ret[2])
{
        ret[0] = (struct place){ r->etc, BENCH_DIR };
        ret[1] = (struct place){ r->lib, BENCH_SHARE };
        return 2;
}

static bool name_is_valid(const char *name, size_t n)
{
        if (n == 0 || n > NAME_LENGTH_MAX || name[0] == '-')
                return false;
        for (size_t i = 0; i < n; i++)
                if (!isalnum((unsigned char) name[i]) && name[i] != '-' && name[i] != '_')
                        return false;
        return true;
}

int profile_load(const struct roots *r, const char *name, profile_complain_fn complain, void *data, struct profile **ret)
{
        struct place dirs[2];
        size_t n = places(r, dirs);

        if (!name_is_valid(name, strlen(name)))
                return -EINVAL;
        for (size_t i = 0; i < n; i++) {
                _cleanup_free_ char *text = NULL;
                _cleanup_close_ int fd = -1;
                char path[128];
                size_t size = 0;
                int k;

                if (dirs[i].root < 0)
                        continue;
                (void) snprintf(path, sizeof(path), "%s/%s" BENCH_SUFFIX, dirs[i].dir, name);
                fd = openat(dirs[i].root, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
                if (fd < 0 && errno == ENOENT)
                        continue;
                if (fd < 0)
                        return -errno;
                k = read_whole(fd, FILE_SIZE_MAX, &text, &size);
                if (k < 0)
                        return k;
                return profile_parse(name, path, text, size, complain, data, ret);
        }
        return -ENOENT;
}

static bool known(char *const *names, const char *name, size_t n)
{
        for (; names && *names; names++)
                if (strlen(*names) == n && strncmp(*names, name, n) == 0)
                        return true;
        return false;
}

static int names_in(const struct place *p, char ***names, size_t *n)
{
        struct dirent *e;
        int fd, k = 0;
        DIR *d;

        fd = p->root < 0 ? -1 : openat(p->root, p->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return 0;
        d = fdopendir(fd);
        if (!d) {
                (void) close(fd);
                return -ENOMEM;
        }
        while (k >= 0 && (e = readdir(d))) {
                size_t length = strlen(e->d_name), suffix = strlen(BENCH_SUFFIX);
                char name[NAME_LENGTH_MAX + 1];

                if (length <= suffix || !streq(e->d_name + length - suffix, BENCH_SUFFIX))
                        continue;
                length -= suffix;
                if (!name_is_valid(e->d_name, length) || known(*names, e->d_name, length))
                        continue;
                (void) snprintf(name, sizeof(name), "%.*s", (int) length, e->d_name);
                k = strv_push(names, n, name);
        }
        (void) closedir(d);
        return k < 0 ? k : 0;
}

static int compare(const void *a, const void *b)
{
        return strcmp(*(char *const *) a, *(char *const *) b);
}

int profile_names(const struct roots *r, char ***ret)
{
        char **names = calloc(1, sizeof(*names));
        struct place dirs[2];
        size_t count = 0, n = places(r, dirs);
        int k = names ? 0 : -ENOMEM;

        for (size_t i = 0; i < n && k >= 0; i++)
                k = names_in(&dirs[i], &names, &count);
        if (k < 0) {
                strv_free(names);
                return k;
        }
        qsort(names, count, sizeof(*names), compare);
        *ret = names;
        return 0;
}
