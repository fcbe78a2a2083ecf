/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/bench/below.h"

#include <sys/sysmacros.h>

#include "common/util.h"
#include "sys/luns.h"
#include "sys/sysfs.h"

#define LAYERS_MAX 8 /* of a file system on LUKS on LVM on md there are three */

struct search {
        const struct roots *r;
        const struct views *views;
        const struct view *found;
        bool other; /* also a disk that is none of ours, or another one */
        unsigned layer;
        char path[64]; /* of the device whose slaves are looked at */
};

static void look(struct search *s, unsigned major, unsigned minor);

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
        struct search *s = data, below = *s;
        char path[sizeof(s->path) + BLOCK_NAME_MAX + 16], text[32];
        unsigned major, minor;

        (void) snprintf(path, sizeof(path), "%s/slaves/%.*s/dev", s->path, BLOCK_NAME_MAX, name);
        if (attr_read(s->r->sys, path, text, sizeof(text)) <= 0 || sscanf(text, "%u:%u", &major, &minor) != 2) {
                s->other = true;
                return 1;
        }
        look(&below, major, minor);
        s->found = below.found;
        s->other = below.other;
        return s->other;
}

static void look(struct search *s, unsigned major, unsigned minor)
{
        const struct view *v = ours(s->views, major, minor);
        char slaves[sizeof(s->path) + 8];

        if (v) {
                s->other = s->other || (s->found && s->found != v);
                s->found = v;
                return;
        }
        (void) snprintf(s->path, sizeof(s->path), "dev/block/%u:%u", major, minor);
        (void) snprintf(slaves, sizeof(slaves), "%s/slaves", s->path);
        /* One that stands on nothing is a disk that is none of ours. */
        if (++s->layer > LAYERS_MAX || dir_each(s->r->sys, slaves, look_at_slave, s) < 0 || !s->found)
                s->other = true;
}

const struct view *disk_below(const struct roots *r, const struct views *views, dev_t dev)
{
        struct search s = {.r = r, .views = views};

        look(&s, major(dev), minor(dev));
        return s.other ? NULL : s.found;
}
