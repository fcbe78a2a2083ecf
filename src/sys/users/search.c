/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/users/search.h"

#include "common/util.h"
#include "sys/io/sysfs.h"

const char *search_name(const struct user_search *s, const char *name)
{
        const struct block *b = luns_find(s->luns, s->n_luns, name);

        if (b)
                return b->name;
        for (size_t i = 0; i < s->n_luns; i++)
                if (s->luns[i].sg[0] && streq(s->luns[i].sg, name))
                        return s->luns[i].sg;
        return NULL;
}

struct user *search_add(struct user_search *s, enum user_kind kind, const char *device)
{
        struct user u = {.kind = kind};

        (void) copy_string(u.device, sizeof(u.device), device);
        if (!list_push(s->list, s->n, u))
                return NULL;
        return s->list + s->n - 1;
}

bool search_is_mounted(const struct user_search *s, const char *device)
{
        for (size_t i = 0; i < s->n; i++)
                if (s->list[i].kind == USER_MOUNT && streq(s->list[i].device, device))
                        return true;
        return false;
}

#define USES_MAX 64

bool search_enough(const struct user_search *s, const char *device)
{
        size_t n = 0;

        for (size_t i = 0; i < s->n && n < USES_MAX; i++)
                n += streq(s->list[i].device, device);
        return n == USES_MAX;
}

int search_add_named(struct user_search *s, enum user_kind kind, const char *device,
                     const char *where)
{
        struct user *u = search_add(s, kind, device);

        if (!u || (where && !(u->where = strdup(where))))
                return -ENOMEM;
        if (s->any)
                return SEARCH_OVER;
        return 0;
}

bool search_has_read(const struct user_search *s, const char *namespace)
{
        for (size_t i = 0; i < s->n_namespaces; i++)
                if (streq(s->namespaces[i], namespace))
                        return true;
        return false;
}

int search_note_read(struct user_search *s, const char *namespace)
{
        return strv_push(&s->namespaces, &s->n_namespaces, namespace);
}

/*
 * The devices that stand on the disk: volumes, arrays, mappings, their partitions, and the devices
 * on those. They are read only when the users are listed, and once. The disk's own holders/ shows
 * quickly whether it is used.
 */

/* For one disk. If more devices stand on it, only the first ones are reported. */
#define STACK_MAX 256

struct climb {
        struct user_search *s;
        const char *device; /* the disk's node below all devices that are found now */
        const char *block;  /* the device whose directory is read */
        bool direct;
};

bool search_is_called(const struct user_search *s, const char *block, const char *name)
{
        const char *mapping = startswith(name, "mapper/");
        char dm[160];

        if (streq(block, name))
                return true;
        return mapping && startswith(block, "dm-") &&
               attr_read(s->roots->sys, path_join("class/block/", block, "/dm/name"), dm,
                         sizeof(dm)) > 0 &&
               streq(dm, mapping);
}

const char *search_stacked_number(const struct user_search *s, unsigned major, unsigned minor)
{
        for (size_t i = 0; major != 0 && i < s->n_stack; i++)
                if (s->stack[i].block.major == major && s->stack[i].block.minor == minor)
                        return s->stack[i].device;
        return NULL;
}

const char *search_stacked_name(const struct user_search *s, const char *name)
{
        for (size_t i = 0; i < s->n_stack; i++)
                if (search_is_called(s, s->stack[i].block.name, name))
                        return s->stack[i].device;
        return NULL;
}

static bool stack_has(const struct climb *c, const char *name)
{
        for (size_t i = 0; i < c->s->n_stack; i++)
                if (streq(c->s->stack[i].block.name, name) &&
                    streq(c->s->stack[i].device, c->device))
                        return true;
        return false;
}

static int stack_push(const char *name, void *data)
{
        struct climb *c = data;
        struct user_search *s = c->s;
        struct stacked new = {.device = c->device, .direct = c->direct};

        if (stack_has(c, name) || s->n_stack >= STACK_MAX)
                return 0;
        if (!copy_string(new.block.name, sizeof(new.block.name), name))
                return -ENAMETOOLONG;
        /* otherwise 0 */
        (void) attr_read_devno(s->roots->sys, path_join("class/block/", name, "/dev"),
                               &new.block.major, &new.block.minor);
        if (!list_push(s->stack, s->n_stack, new))
                return -ENOMEM;
        return 0;
}

/* Arrays and mappings may have partitions of their own. */
static int stack_push_partition(const char *name, void *data)
{
        const struct climb *c = data;
        const char *path = path_join("class/block/", c->block, "/", name, "/partition");

        if (!startswith(name, c->block) || faccessat(c->s->roots->sys, path, F_OK, 0) < 0)
                return 0;
        return stack_push(name, data);
}

static int stack_push_holders(struct climb *c)
{
        int r = dir_each(c->s->roots->sys, path_join("class/block/", c->block, "/holders"),
                         stack_push, c);

        if (r == -ENOENT)
                return 0;
        return r;
}

int search_stack(struct user_search *s)
{
        size_t first = s->n_stack;
        int r;

        for (size_t l = 0; l < s->n_luns; l++)
                FOREACH_NODE (b, s->luns + l) {
                        r = stack_push_holders(&(struct climb){s, b->name, b->name, true});
                        if (r < 0)
                                return r;
                }
        /* Devices that are pushed here are searched later in this loop. A device that has
         * disappeared holds nothing. */
        for (size_t i = first; i < s->n_stack; i++) {
                const struct block at = s->stack[i].block;
                struct climb c = {s, s->stack[i].device, at.name, false};

                if (dir_each(s->roots->sys, path_join("class/block/", at.name),
                             stack_push_partition, &c) == -ENOMEM ||
                    stack_push_holders(&c) == -ENOMEM)
                        return -ENOMEM;
        }
        return 0;
}
