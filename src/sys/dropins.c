/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/dropins.h"

#include <fcntl.h>

#include "common/util.h"
#include "sys/sysfs.h"

struct dropins {
        char **names;
        size_t n;
};

static int collect(const char *name, void *data)
{
        struct dropins *d = data;
        size_t length = strlen(name);

        if (length < 6 || !streq(name + length - 5, ".conf"))
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

int dropins_each(const struct roots *r, const char *dir, int (*fn)(int dirfd, const char *path, void *data), void *data)
{
        struct dropins d = { 0 };
        int k = dir_each(r->lib, dir, collect, &d);

        if (k != -ENOMEM)
                k = dir_each(r->etc, dir, collect, &d);
        if (k != -ENOMEM) {
                k = 0;
                if (d.n)
                        qsort(d.names, d.n, sizeof(*d.names), by_name);
        }
        for (size_t i = 0; i < d.n && k >= 0; i++) {
                char path[512];

                (void) snprintf(path, sizeof(path), "%s/%s", dir, d.names[i]);
                k = fn(faccessat(r->etc, path, F_OK, 0) == 0 ? r->etc : r->lib, path, data);
        }
        strv_free(d.names);
        return k < 0 ? k : 0;
}
