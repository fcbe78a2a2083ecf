/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/journal.h"

#include <assert.h>
#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int journal_send(const struct iovec *fields, size_t n)
{
        struct sockaddr_un journald = {.sun_family = AF_UNIX, .sun_path = "/run/systemd/journal/socket"};
        struct iovec iov[2 * JOURNAL_FIELDS_MAX];
        struct msghdr message = {.msg_name = &journald, .msg_namelen = sizeof(journald), .msg_iov = iov, .msg_iovlen = 2 * n};
        int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), r;

        assert(n <= JOURNAL_FIELDS_MAX);
        if (fd < 0)
                return -errno;
        for (size_t i = 0; i < n; i++) {
                iov[2 * i] = fields[i];
                iov[2 * i + 1] = (struct iovec){(char *) "\n", 1};
        }
        r = sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
        (void) close(fd);
        return r;
}
