/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <glob.h>
#include <limits.h>

#include "common/util.h"
#include "sys/io/sysfs.h"
#include "sys/users/search.h"

/*
 * Targets of the kernel that export a node to another machine. The kernel opens the node itself and without a claim, and no
 * process has it open (drivers/nvme/target/io-cmd-bdev.c, drivers/target/target_core_file.c,
 * drivers/usb/gadget/function/storage_common.c). configfs has the path of the node. LIO's block backend claims its disk.
 */
static const struct {
        const char *paths, *module;
} targets[] = {
        {"nvmet/subsystems/*/namespaces/*/device_path", "nvmet"},
        {"target/core/fileio_*/*/udev_path", "target_core_file"},
        {"usb_gadget/*/functions/mass_storage.*/lun.*/file", "usb_f_mass_storage"},
};

static bool is_enabled(const char *path)
{
        char enable[PATH_MAX], value[8];

        /* A gadget has no such file: it opens the node when the path is written. */
        (void) snprintf(enable, sizeof(enable), "%.*s/enable", (int) (strrchr(path, '/') - path), path);
        return attr_read(AT_FDCWD, enable, value, sizeof(value)) <= 0 || !streq(value, "0");
}

static int add_target(struct user_search *s, const char *path, const char *module)
{
        const char *device;
        struct user *u;
        char node[PATH_MAX];
        int k = (int) attr_read(AT_FDCWD, path, node, sizeof(node));

        if (k < 0)
                return k == -ENOENT || k == -ENODEV ? 0 : k; /* it has just been removed */
        device = node[0] == '/' ? search_path(s, node) : NULL;
        if (!device || !is_enabled(path))
                return 0;
        u = search_add(s, USER_OPEN, device);
        if (u)
                u->command = strdup(module);
        return u && u->command ? 0 : -ENOMEM;
}

/* A directory may be missing. glob(3) may skip no other error: an error counts as in use. */
static int on_error(const char *path, int error)
{
        return error != ENOENT;
}

int search_targets(struct user_search *s)
{
        int k = 0;

        for (size_t i = 0; k >= 0 && i < ELEMENTSOF(targets); i++) {
                char pattern[128];
                glob_t found;
                int g;

                (void) snprintf(pattern, sizeof(pattern), "/proc/self/fd/%i/kernel/config/%s", s->r->sys, targets[i].paths);
                g = glob(pattern, GLOB_NOSORT, on_error, &found);
                for (size_t n = 0; g == 0 && k >= 0 && n < found.gl_pathc; n++)
                        k = add_target(s, found.gl_pathv[n], targets[i].module);
                globfree(&found);
                if (g != 0 && g != GLOB_NOMATCH)
                        k = g == GLOB_NOSPACE ? -ENOMEM : -EIO;
        }
        return k;
}
