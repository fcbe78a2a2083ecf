/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/measure/below.h"

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/util.h"
#include "sys/io/sysfs.h"
#include "sys/usb/luns.h"

#define LAYERS_MAX 8 /* a file system on LUKS on LVM on md has three */

struct below_search {
        const struct roots *r;
        const struct views *views;
        const char *interface;
        const struct view *found;
        bool other;   /* also a disk that uasd does not manage, or a second one */
        bool unknown; /* also a device whose disk cannot be found */
        bool asked;
        unsigned layer;
        char path[64]; /* of the device whose slaves are read */
};

static void look(struct below_search *s, unsigned major, unsigned minor);

static const struct view *ours(const struct views *views, unsigned major, unsigned minor)
{
        const char *name;

        for (size_t i = 0; i < views->n; i++)
                if (luns_have(views->list[i].disk.luns, views->list[i].disk.n_luns, major, minor, &name))
                        return &views->list[i];
        return NULL;
}

static int look_at_slave(const char *name, void *data)
{
        struct below_search *s = data, below = *s;
        char path[sizeof(s->path) + BLOCK_NAME_MAX + 16], text[32];
        unsigned major, minor;

        (void) snprintf(path, sizeof(path), "%s/slaves/%.*s/dev", s->path, BLOCK_NAME_MAX, name);
        if (attr_read(s->r->sys, path, text, sizeof(text)) <= 0 || sscanf(text, "%u:%u", &major, &minor) != 2) {
                s->unknown = true;
                return 0;
        }
        look(&below, major, minor);
        s->found = below.found;
        s->other = below.other;
        s->unknown = below.unknown;
        s->asked = below.asked;
        return 0;
}

static bool exists(const struct below_search *s, const char *name)
{
        char path[sizeof(s->path) + 24];

        (void) snprintf(path, sizeof(path), "%s/%s", s->path, name);
        return faccessat(s->r->sys, path, F_OK, 0) == 0;
}

static int count(const char *name, void *data)
{
        ++*(unsigned *) data;
        return 0;
}

static void look(struct below_search *s, unsigned major, unsigned minor)
{
        const struct view *v = ours(s->views, major, minor);
        char slaves[sizeof(s->path) + 8];
        unsigned n = 0;

        if (v) {
                s->other = s->other || (s->found && s->found != v);
                s->asked = s->asked || (s->interface && streq(s->interface, v->disk.facts.interface));
                s->found = v;
                return;
        }
        (void) snprintf(s->path, sizeof(s->path), "dev/block/%u:%u", major, minor);
        (void) snprintf(slaves, sizeof(slaves), "%s/slaves", s->path);
        /* The numbers of btrfs and ZFS belong to no device. A loop device is on top of a file. */
        if (++s->layer > LAYERS_MAX || !exists(s, "") || exists(s, "loop/backing_file")) {
                s->unknown = true;
                return;
        }
        (void) dir_each(s->r->sys, slaves, count, &n);
        /* A device without slaves is a disk, but none that uasd manages. */
        if (n == 0)
                s->other = true;
        else
                (void) dir_each(s->r->sys, slaves, look_at_slave, s);
}

void disks_below(const struct roots *r, const struct views *views, dev_t dev, const char *interface, struct below *ret)
{
        struct below_search s = {.r = r, .views = views, .interface = interface};

        look(&s, major(dev), minor(dev));
        *ret = (struct below){
                .one = s.other || s.unknown ? NULL : s.found,
                .ours = s.found,
                .known = !s.unknown,
                .asked = s.asked,
        };
}
