/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "hold/enabled.h"

#include <limits.h>
#include <sys/stat.h>

#include "common/names.h"
#include "common/util.h"
#include "sys/io/boot.h"
#include "sys/io/sysfs.h"

#define UNITS "systemd/system"

/* Returns true for a link to /dev/null, or an empty file. */
static bool masked_in(int dirfd)
{
        char target[PATH_MAX];
        struct stat st;

        if (link_basename(dirfd, UNITS "/" UNIT_SERVICE, target, sizeof(target)) >= 0)
                return streq(target, "null");
        return fstatat(dirfd, UNITS "/" UNIT_SERVICE, &st, 0) >= 0 && S_ISREG(st.st_mode) && st.st_size == 0;
}

static int wants_service(const char *name, void *data)
{
        const char *dot = strrchr(name, '.');
        char path[PATH_MAX], target[PATH_MAX];

        if (!dot || (!streq(dot, ".wants") && !streq(dot, ".requires")))
                return 0;
        (void) snprintf(path, sizeof(path), UNITS "/%s/" UNIT_SERVICE, name);
        return link_basename(*(int *) data, path, target, sizeof(target)) >= 0 && !streq(target, "null");
}

bool service_enabled(const struct roots *r)
{
        int dirs[] = {r->etc, r->run, r->lib};

        if (masked_in(r->etc) || masked_in(r->run) || cmdline_has(r, "systemd.mask=" UNIT_SERVICE) ||
            cmdline_has(r, "systemd.mask=uasd"))
                return false;
        for (size_t i = 0; i < ELEMENTSOF(dirs); i++)
                if (dirs[i] >= 0 && dir_each(dirs[i], UNITS, wants_service, &dirs[i]) > 0)
                        return true;
        return false;
}
