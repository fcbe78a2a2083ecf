/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/measure/subject.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "common/util.h"

#define NAME ".uasctl-bench-XXXXXX"

/* A twentieth of the free space stays free, because a full file system does harm. */
#define KEEP_FREE_PART 20

static int free_space(const char *directory, uint64_t *ret)
{
        struct statvfs s;

        if (statvfs(directory, &s) < 0)
                return -errno;
        *ret = (uint64_t) s.f_bavail * s.f_frsize;
        return 0;
}

uint64_t scratch_fitting(const char *directory, uint64_t wanted, uint64_t least)
{
        uint64_t space = 0;

        if (wanted <= least || free_space(directory, &space) < 0 || space / 2 < least)
                return least;
        return wanted < space / 2 ? wanted : space / 2;
}

/* For file systems without O_TMPFILE: makes a file and removes its name at once. */
static int make_and_unlink(const char *directory)
{
        _cleanup_free_ char *path = NULL;
        _cleanup_close_ int fd = -1;

        if (asprintf(&path, "%s/" NAME, directory) < 0)
                return -ENOMEM;
        fd = mkostemp(path, O_CLOEXEC);
        if (fd < 0)
                return -errno;
        return unlink(path) < 0 ? -errno : TAKE_FD(fd);
}

static int open_nameless(const char *directory)
{
        int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

        if (fd >= 0)
                return fd;
        if (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL || errno == ENOENT)
                return make_and_unlink(directory);
        return -errno;
}

int scratch_make(const char *directory, uint64_t size, uint64_t *ret_free)
{
        _cleanup_close_ int fd = -1;
        int r = free_space(directory, ret_free);

        if (r < 0)
                return r;
        if (size > *ret_free - *ret_free / KEEP_FREE_PART)
                return -ENOSPC;
        fd = open_nameless(directory);
        if (fd < 0)
                return fd;
        return ftruncate(fd, (off_t) size) < 0 ? -errno : TAKE_FD(fd);
}
