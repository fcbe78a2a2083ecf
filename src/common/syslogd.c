/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/syslogd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include "common/util.h"

/* Returns false if no syslogd is there. A line for one that hangs is lost. */
static bool syslogd_to_socket(const char *path, int level, const char *line)
{
        struct sockaddr_un syslogd = {.sun_family = AF_UNIX};
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        char head[16]; /* facility and level */
        struct iovec parts[] = {{head, 0}, {(char *) line, strlen(line) - 1}};
        struct msghdr message = {.msg_name = &syslogd,
                                 .msg_namelen = sizeof(syslogd),
                                 .msg_iov = parts,
                                 .msg_iovlen = ELEMENTSOF(parts)};

        if (fd < 0 || strlen(path) >= sizeof(syslogd.sun_path))
                return false;
        (void) stpcpy(syslogd.sun_path, path);
        parts[0].iov_len = (size_t) snprintf(head, sizeof(head), "<%i>", LOG_DAEMON | level);
        return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0 || errno == EAGAIN;
}

static void syslogd_to_file(const char *folder, const char *line)
{
        char path[PATH_MAX], full[PATH_MAX];
        _cleanup_close_ int fd = -1;
        struct stat st;

        (void) mkdir(folder, 0755);
        (void) snprintf(path, sizeof(path), "%s/log", folder);
        (void) snprintf(full, sizeof(full), "%s/log.1", folder);
        if (stat(path, &st) >= 0 && st.st_size + (off_t) strlen(line) > SYSLOGD_FILE_MAX)
                (void) rename(path, full);
        fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd >= 0)
                (void) !write(fd, line, strlen(line));
}

void syslogd_send(const char *socket_path, const char *folder, int level, const char *line)
{
        if (!syslogd_to_socket(socket_path, level, line))
                syslogd_to_file(folder, line);
}
