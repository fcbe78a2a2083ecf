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
        unsigned layer;
        char slaves[64];
        const struct view *found; /* what all that were looked at stand on */
        bool other;               /* one of them does not, or on a disk that is none of ours */
};

static const struct view *ours(const struct views *views, unsigned major, unsigned minor)
{
        const char *name;

        for (size_t i = 0; i < views->n; i++)
                if (luns_have(views->list[i].disk.luns, views->list[i].disk.n_luns, major, minor, &name))
                        return &views->list[i];
        return NULL;
}

static const struct view *stands_on(const struct search *above, unsigned major, unsigned minor);

static int look_at_slave(const char *name, void *data)
{
        struct search *s = data;
        char path[sizeof(s->slaves) + BLOCK_NAME_MAX + 8], text[32];
        const struct view *v = NULL;
        unsigned major, minor;

        (void) snprintf(path, sizeof(path), "%s/%.*s/dev", s->slaves, BLOCK_NAME_MAX, name);
        if (attr_read(s->r->sys, path, text, sizeof(text)) > 0 && sscanf(text, "%u:%u", &major, &minor) == 2)
                v = stands_on(s, major, minor);
        s->other = !v || (s->found && s->found != v);
        s->found = v;
        return s->other;
}

static const struct view *stands_on(const struct search *above, unsigned major, unsigned minor)
{
        struct search s = {.r = above->r, .views = above->views, .layer = above->layer + 1};
        const struct view *v = ours(s.views, major, minor);

        if (v || s.layer > LAYERS_MAX)
                return v;
        (void) snprintf(s.slaves, sizeof(s.slaves), "dev/block/%u:%u/slaves", major, minor);
        /* One that stands on nothing is a disk that is none of ours. */
        return dir_each(s.r->sys, s.slaves, look_at_slave, &s) < 0 || s.other ? NULL : s.found;
}

const struct view *disk_below(const struct roots *r, const struct views *views, dev_t dev)
{
        return stands_on(&(struct search){.r = r, .views = views}, major(dev), minor(dev));
}
