/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/io/kernel-log.h"

#include <fcntl.h>

#include "common/util.h"

#define RECORD_MAX 8192 /* the kernel's own limit */

int kmsg_next(int fd, struct kmsg *ret)
{
        char record[RECORD_MAX + 1];
        ssize_t n;

        do {
                n = read(fd, record, RECORD_MAX);
                if (n < 0 && errno != EPIPE && errno != EINTR &&
                    errno != EINVAL) /* overwritten by the ring buffer, or too long */
                        return -errno;
                record[n > 0 ? n : 0] = '\0';
        } while (n != 0 && kmsg_parse(record, ret) < 0);
        return n != 0;
}

int uas_probe_error(const struct roots *r, const char *interface)
{
        _cleanup_close_ int fd = openat(r->dev, "kmsg", O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        struct kmsg k;
        int error = 0;

        while (fd >= 0 && kmsg_next(fd, &k) > 0)
                kmsg_note_probe(&k, interface, &error);
        return error;
}
