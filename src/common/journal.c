/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/journal.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/log.h"

int journal_send(const char *text, size_t size)
{
        const struct sockaddr_un journald = {.sun_family = AF_UNIX,
                                             .sun_path = "/run/systemd/journal/socket"};
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

        if (fd < 0)
                return -errno;
        if (sendto(fd, text, size, MSG_NOSIGNAL | MSG_DONTWAIT, (const struct sockaddr *) &journald,
                   sizeof(journald)) < 0)
                return -errno;
        return 0;
}
