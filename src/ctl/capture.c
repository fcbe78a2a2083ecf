/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/capture.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>

#include "common/child.h"
#include "term/terminal.h"

#define OUTPUT_MAX (1 << 20)
#define GRACE_MSEC 2

int capture(const char *const argv[], uint64_t limit_usec, char **ret)
{
        static const char *const env[] = {"LC_ALL=C", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL};
        _cleanup_close_ int out = memfd_create("output", MFD_CLOEXEC | MFD_ALLOW_SEALING),
                            null = open("/dev/null", O_RDWR | O_CLOEXEC);
        _cleanup_free_ char *text = NULL;
        off_t n;
        int r;

        *ret = NULL;
        /* A program that writes more than that gets an error. */
        if (out < 0 || ftruncate(out, OUTPUT_MAX) < 0 || fcntl(out, F_ADD_SEALS, F_SEAL_GROW) < 0)
                return -errno;
        r = child_spawn(&(struct program){
                .argv = argv, .env = env, .fds = {null, out, null}, .death = SIGKILL});
        if (r < 0)
                return r;
        r = child_exit_status(r, limit_usec, GRACE_MSEC);
        if (r < 0)
                return r;
        n = lseek(out, 0, SEEK_CUR); /* it has written up to here */
        if (n >= OUTPUT_MAX)
                return -E2BIG;
        text = calloc(1, (size_t) n + 1);
        if (!text)
                return -ENOMEM;
        if (pread(out, text, (size_t) n, 0) != n)
                return -EIO;
        *ret = TAKE_PTR(text);
        return r;
}
