/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/quirkfacts.h"

#include <fcntl.h>
#include <limits.h>

#include "common/names.h"
#include "common/util.h"
#include "sys/keepoff.h"
#include "sys/modprobed.h"
#include "sys/quirkparam.h"
#include "sys/statefile.h"
#include "sys/sysfs.h"

struct entries {
        const struct roots *roots;
        char *ret;
};

static int take_entry(const char *key, const char *value, void *data)
{
        struct entries *e = data;

        if (streq(key, KEY_ENTRY) && *value)
                (void) quirks_prepend(e->ret, value, e->ret);
        return 0;
}

static int take_record(const char *name, void *data)
{
        struct entries *e = data;
        char path[PATH_MAX];

        (void) snprintf(path, sizeof(path), RUN_SWITCH "/%s", name);
        (void) state_read(e->roots->run, path, take_entry, e); /* beside it is its lock, an empty file */
        return 0;
}

int quirk_facts_read(const struct roots *r, struct quirk_facts *ret)
{
        struct quirk_facts q = { .parameter = "" };
        int k = modprobe_quirk_lines(r, &q.lines);

        if (k < 0)
                return k;
        if (quirks_param_read(r, q.parameter) < 0)
                q.parameter[0] = '\0';
        /* What is part of the kernel has parameters, and no state of a module. */
        q.built_in = faccessat(r->sys, SYSFS_QUIRKS, F_OK, 0) == 0 && faccessat(r->sys, SYSFS_STORAGE_STATE, F_OK, 0) < 0;
        keepoff_own_all(r, q.own_kept);
        (void) dir_each(r->run, RUN_SWITCH, take_record, &(struct entries){ r, q.own_now });
        *ret = q;
        return 0;
}
