/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/freeing.h"

#include "common/util.h"
#include "core/freeing.h"
#include "sys/io/sysfs.h"

#define COMMAND_MAX 1200
#define STACK_DEPTH 8 /* of the recursion: real stacks have three */

struct freeing {
        const struct roots *roots;
        char **list;
        size_t n;
        unsigned depth;
};

static int add(struct freeing *f, const char *command)
{
        for (size_t i = 0; i < f->n; i++)
                if (streq(f->list[i], command))
                        return 0;
        return *command ? strv_push(&f->list, &f->n, command) : 0;
}

static void read_mapping(const struct roots *r, const char *name, const char *attribute, char *ret, size_t size)
{
        char path[96];

        (void) snprintf(path, sizeof(path), "class/block/%.31s/dm/%s", name, attribute);
        if (attr_read(r->sys, path, ret, size) < 0)
                ret[0] = '\0';
}

/* For dir_each() over holders/: a device can be stopped only after those that stand on it. */
static int stop_stacked(const char *name, void *data)
{
        char path[64], mapping[160], uuid[160], command[COMMAND_MAX];
        struct freeing *f = data;
        int r = 0;

        (void) snprintf(path, sizeof(path), "class/block/%.31s/holders", name);
        if (++f->depth < STACK_DEPTH)
                r = dir_each(f->roots->sys, path, stop_stacked, f);
        f->depth--;
        if (r == -ENOMEM)
                return r;
        read_mapping(f->roots, name, "name", mapping, sizeof(mapping));
        read_mapping(f->roots, name, "uuid", uuid, sizeof(uuid));
        return add(f, freeing_holder(name, mapping, uuid, command, sizeof(command)));
}

int freeing_list(const struct roots *r, const struct disk *d, char ***ret, size_t *ret_n)
{
        struct freeing f = {.roots = r};
        int k = 0;

        if (!disk_has_root(d)) {
                /* The mount table lists a mount before those below it. */
                for (size_t i = d->n_users; i > 0 && k >= 0; i--) {
                        const struct user *u = d->users + i - 1;
                        char command[COMMAND_MAX];

                        k = add(&f, freeing_command(u, user_is_stacked(d, u), command, sizeof(command)));
                }
                for (size_t i = 0; i < d->n_users && k >= 0; i++)
                        if (d->users[i].kind == USER_HOLDER && d->users[i].where)
                                k = stop_stacked(d->users[i].where, &f);
        }
        if (k < 0) {
                strv_free(f.list);
                return k;
        }
        *ret = f.list;
        *ret_n = f.n;
        return 0;
}
