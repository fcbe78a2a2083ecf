/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>

#include "common/util.h"
#include "sys/io/sysfs.h"
#include "sys/users/search.h"

/*
 * The devices that stand on the disk: volumes, arrays, mappings, their partitions, and the devices on those. They are read only
 * when the users are listed, and once. The disk's own holders/ shows quickly whether it is used.
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
        char path[64], dm[160];

        if (streq(block, name))
                return true;
        if (strncmp(name, "mapper/", 7) != 0 || strncmp(block, "dm-", 3) != 0)
                return false;
        (void) snprintf(path, sizeof(path), "class/block/%.31s/dm/name", block);
        return attr_read(s->r->sys, path, dm, sizeof(dm)) > 0 && streq(dm, name + 7);
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

static bool stacked_already(const struct climb *c, const char *name)
{
        for (size_t i = 0; i < c->s->n_stack; i++)
                if (streq(c->s->stack[i].block.name, name) && streq(c->s->stack[i].device, c->device))
                        return true;
        return false;
}

static int push(const char *name, void *data)
{
        struct climb *c = data;
        struct user_search *s = c->s;
        struct stacked new = {.device = c->device, .direct = c->direct};
        char path[64];

        if (stacked_already(c, name) || s->n_stack >= STACK_MAX)
                return 0;
        if (!copy_string(new.block.name, sizeof(new.block.name), name))
                return -ENAMETOOLONG;
        (void) snprintf(path, sizeof(path), "class/block/%.31s/dev", name);
        (void) attr_read_devno(s->r->sys, path, &new.block.major, &new.block.minor); /* otherwise 0 */
        return list_push(s->stack, s->n_stack, new) ? 0 : -ENOMEM;
}

/* Arrays and mappings may have partitions of their own. */
static int push_partition(const char *name, void *data)
{
        const struct climb *c = data;
        char path[128];

        (void) snprintf(path, sizeof(path), "class/block/%.31s/%.31s/partition", c->block, name);
        return strncmp(name, c->block, strlen(c->block)) == 0 && faccessat(c->s->r->sys, path, F_OK, 0) == 0 ? push(name, data)
                                                                                                             : 0;
}

static int push_holders(struct climb *c)
{
        char path[64];
        int k;

        (void) snprintf(path, sizeof(path), "class/block/%.31s/holders", c->block);
        k = dir_each(c->s->r->sys, path, push, c);
        return k == -ENOENT ? 0 : k;
}

int search_stack(struct user_search *s)
{
        size_t first = s->n_stack;
        int k = 0;

        for (size_t l = 0; l < s->n_luns; l++) {
                const struct lun *lun = s->luns + l;

                if (!lun->disk.name[0])
                        continue;
                k = push_holders(&(struct climb){s, lun->disk.name, lun->disk.name, true});
                for (size_t p = 0; k >= 0 && p < lun->n_parts; p++)
                        k = push_holders(&(struct climb){s, lun->parts[p].name, lun->parts[p].name, true});
                if (k < 0)
                        return k;
        }
        /* Devices that are pushed here are searched later in this loop. A device that has disappeared holds nothing. */
        for (size_t i = first; i < s->n_stack; i++) {
                const struct block at = s->stack[i].block;
                struct climb c = {s, s->stack[i].device, at.name, false};
                char path[64];

                (void) snprintf(path, sizeof(path), "class/block/%.31s", at.name);
                if (dir_each(s->r->sys, path, push_partition, &c) == -ENOMEM || push_holders(&c) == -ENOMEM)
                        return -ENOMEM;
        }
        return 0;
}
