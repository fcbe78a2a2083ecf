/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/measure/profile.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "common/names.h"
#include "common/util.h"

#define FILE_SIZE_MAX (256 * 1024)

/* Where profiles are, the nearer word first. */
struct place {
        int root;
        const char *dir;
        const char *shown; /* as people know it */
};

static size_t places(const struct roots *r, struct place ret[2])
{
        ret[0] = (struct place){r->etc, BENCH_DIR, BENCH_DIR_SHOWN};
        ret[1] = (struct place){r->lib, BENCH_SHARE, BENCH_SHARE_SHOWN};
        return 2;
}

static bool name_is_valid(const char *name, size_t n)
{
        if (n == 0 || n > PROFILE_NAME_MAX || name[0] == '-')
                return false;
        for (size_t i = 0; i < n; i++)
                if (!isalnum((unsigned char) name[i]) && name[i] != '-' && name[i] != '_')
                        return false;
        return true;
}

static bool is_file(const struct place *p, const char *path)
{
        struct stat st;

        return fstatat(p->root, path, &st, 0) == 0 && S_ISREG(st.st_mode);
}

/* A nearer one that cannot be read does not let the one behind it through. */
static bool is_there(const struct place *p, const char *path)
{
        struct stat st;

        return p->root >= 0 && fstatat(p->root, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static int complain_of(profile_complain_fn complain, const char *file, const char *what, void *data)
{
        if (complain)
                complain(file, 0, what, data);
        return -EBADMSG;
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
                char path[128], shown[128];
                size_t size = 0;
                int k;

                (void) snprintf(path, sizeof(path), "%s/%s" BENCH_SUFFIX, dirs[i].dir, name);
                (void) snprintf(shown, sizeof(shown), "%s/%s" BENCH_SUFFIX, dirs[i].shown, name);
                if (!is_there(&dirs[i], path))
                        continue;
                fd = openat(dirs[i].root, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
                if (fd < 0 && (errno == ENOENT || errno == ELOOP))
                        return complain_of(complain, shown, "a link that leads nowhere", data);
                if (fd < 0 && errno != ENXIO) /* a socket */
                        return -errno;
                k = fd < 0 ? -EINVAL : read_whole(fd, FILE_SIZE_MAX, &text, &size);
                if (k == -EINVAL)
                        return complain_of(complain, shown, "no regular file", data);
                if (k < 0)
                        return k;
                return profile_parse(name, shown, text, size, complain, data, ret);
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
                char name[PROFILE_NAME_MAX + 1], path[sizeof(BENCH_SHARE) + NAME_MAX + 1];

                if (length <= suffix || !streq(e->d_name + length - suffix, BENCH_SUFFIX))
                        continue;
                length -= suffix;
                if (!name_is_valid(e->d_name, length) || known(*names, e->d_name, length))
                        continue;
                (void) snprintf(path, sizeof(path), "%s/%s", p->dir, e->d_name);
                if (!is_file(p, path))
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
