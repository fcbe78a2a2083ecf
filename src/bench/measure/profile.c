/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/measure/profile.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "common/names.h"
#include "common/util.h"
#include "sys/io/sysfs.h"
#include "term/program.h"

#define FILE_SIZE_MAX (256 * 1024)

/* Directories of profiles. The first one with a name wins. */
struct place {
        int root;
        const char *dir;
        const char *shown; /* path for messages */
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

/* A file that exists but cannot be read still hides those in later directories. */
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

struct profile_list {
        const struct place *place;
        char **list;
        size_t n;
};

static int add_name(const char *entry, void *data)
{
        size_t n = strlen(entry), suffix = strlen(BENCH_SUFFIX);
        struct profile_list *to = data;
        char path[sizeof(BENCH_SHARE) + NAME_MAX + 1], name[PROFILE_NAME_MAX + 1];

        (void) snprintf(path, sizeof(path), "%s/%s", to->place->dir, entry);
        if (n <= suffix || !streq(entry + n - suffix, BENCH_SUFFIX) || !name_is_valid(entry, n - suffix) ||
            !is_file(to->place, path))
                return 0;
        (void) snprintf(name, sizeof(name), "%.*s", (int) (n - suffix), entry);
        for (size_t i = 0; i < to->n; i++)
                if (streq(to->list[i], name))
                        return 0;
        return strv_push(&to->list, &to->n, name);
}

static int compare(const void *a, const void *b)
{
        return strcmp(*(char *const *) a, *(char *const *) b);
}

char **profile_names(const struct roots *r)
{
        struct profile_list names = {.list = need(calloc(1, sizeof(*names.list)))};
        struct place dirs[2];
        size_t n = places(r, dirs);

        for (size_t i = 0; i < n; i++) {
                names.place = &dirs[i];
                if (dirs[i].root >= 0) /* a missing directory has none */
                        (void) dir_each(dirs[i].root, dirs[i].dir, add_name, &names);
        }
        qsort(names.list, names.n, sizeof(*names.list), compare);
        return names.list;
}
