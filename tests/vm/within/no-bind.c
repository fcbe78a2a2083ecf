/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Preloaded into uasd in a guest: a kernel before 4.14, which sends no `bind` and no `unbind`.
 * libudev receives the others.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
        static const char said[] = "no-bind: not received\n";
        ssize_t (*real)(int, struct msghdr *, int);
        ssize_t n;

        *(void **) &real = dlsym(RTLD_NEXT, "recvmsg");
        n = real(fd, m, flags);
        if (n < 7 || m->msg_iovlen < 1 || m->msg_iov[0].iov_len < 7)
                return n;
        if (memcmp(m->msg_iov[0].iov_base, "bind@", 5) != 0 &&
            memcmp(m->msg_iov[0].iov_base, "unbind@", 7) != 0)
                return n;
        (void) !write(STDERR_FILENO, said, sizeof(said) - 1);
        errno = EAGAIN;
        return -1;
}
