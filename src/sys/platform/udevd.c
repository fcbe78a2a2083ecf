/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/platform/udevd.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "common/util.h"

#define UDEV_CONTROL "udev/control" /* in /run */

/* A udevd that was killed leaves its socket, but the kernel lists only those that are open. */
bool udevd_runs(const struct roots *roots)
{
        _cleanup_fclose_ FILE *list = NULL;
        _cleanup_free_ char *line = NULL;
        size_t room = 0;
        bool open = false;
        int fd;

        if (faccessat(roots->run, UDEV_CONTROL, F_OK, 0) < 0)
                return false;
        fd = openat(roots->proc, "net/unix", O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return true;
        list = fdopen(fd, "re");
        if (!list) {
                (void) close(fd);
                return true;
        }
        while (!open && read_line(list, &line, &room) > 0)
                open = strstr(line, "/run/" UDEV_CONTROL);
        return open;
}
