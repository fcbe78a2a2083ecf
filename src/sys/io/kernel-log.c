/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/io/kernel-log.h"

#include <fcntl.h>

#include "common/util.h"
#include "core/kmsg.h"

#define RECORD_MAX 8192 /* the kernel's own limit */

int uas_probe_error(const struct roots *r, const char *interface)
{
        _cleanup_close_ int fd = openat(r->dev, "kmsg", O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        char record[RECORD_MAX];
        int error = 0;
        ssize_t n;

        if (fd < 0)
                return 0;
        while ((n = read(fd, record, sizeof(record))) != 0) {
                struct kmsg k;

                if (n > 0 && kmsg_parse(record, (size_t) n, &k) >= 0)
                        kmsg_note_probe(&k, interface, &error);
                else if (n < 0 && errno != EPIPE &&
                         errno != EINTR) /* EPIPE: the record was overwritten meanwhile, the next read returns the next one */
                        break;
        }
        return error;
}
