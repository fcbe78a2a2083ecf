/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/io/dropins.h"

#include <fcntl.h>

#include "common/util.h"
#include "sys/io/sysfs.h"

struct dropins {
        const char *suffix;
        char **names;
        size_t n;
};

static int collect(const char *name, void *data)
{
        struct dropins *d = data;
        size_t length = strlen(name), end = strlen(d->suffix);

        if (length <= end || !streq(name + length - end, d->suffix))
                return 0;
        for (size_t i = 0; i < d->n; i++)
                if (streq(d->names[i], name))
                        return 0;
        return strv_push(&d->names, &d->n, name);
}

static int by_name(const void *a, const void *b)
{
        return strcmp(*(char *const *) a, *(char *const *) b);
}

int dropins_of(const struct dropin_dir *dirs, size_t n, const char *suffix, int (*fn)(int root, const char *path, void *data),
               void *data)
{
        struct dropins d = {suffix};
        int k = 0;

        for (size_t i = 0; i < n && k != -ENOMEM; i++)
                k = dir_each(dirs[i].root, dirs[i].path, collect, &d);
        if (k != -ENOMEM) {
                k = 0;
                if (d.n)
                        qsort(d.names, d.n, sizeof(*d.names), by_name);
        }
        for (size_t i = 0; i < d.n && k >= 0; i++)
                for (size_t j = 0; j < n; j++) {
                        char path[512];

                        (void) snprintf(path, sizeof(path), "%s/%s", dirs[j].path, d.names[i]);
                        if (faccessat(dirs[j].root, path, F_OK, 0) < 0)
                                continue;
                        k = fn(dirs[j].root, path, data);
                        break;
                }
        strv_free(d.names);
        return k < 0 ? k : 0;
}

int dropins_each(const struct roots *r, const char *dir, int (*fn)(int root, const char *path, void *data), void *data)
{
        return dropins_of((const struct dropin_dir[]){{r->etc, dir}, {r->lib, dir}}, 2, ".conf", fn, data);
}
