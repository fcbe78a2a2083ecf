/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/kernel-config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "common/util.h"
#include "sys/io/sysfs.h"

/* An option that is off is a comment. */
static int read_config(int dirfd, const char *path)
{
        static const char option[] = "CONFIG_USB_UAS=";
        _cleanup_free_ char *line = NULL;
        _cleanup_fclose_ FILE *f = NULL;
        size_t size = 0;
        int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);

        f = fd < 0 ? NULL : fdopen(fd, "re");
        if (!f) {
                (void) close_keep_errno(fd);
                return -ENODATA;
        }
        while (getline(&line, &size, f) >= 0)
                if (strncmp(line, option, strlen(option)) == 0)
                        return 1;
        return 0;
}

int kernel_config_uas(const struct roots *r)
{
        char release[65], path[128];
        int k;

        if (attr_read(r->proc, "sys/kernel/osrelease", release, sizeof(release)) <= 0)
                return -ENODATA;
        (void) snprintf(path, sizeof(path), "../boot/config-%s", release);
        k = read_config(r->etc, path);
        if (k >= 0)
                return k;
        (void) snprintf(path, sizeof(path), "modules/%s/config", release);
        return read_config(r->lib, path);
}
