/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/io/look.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/sysmacros.h>

#include "common/util.h"
#include "sys/io/sysfs.h"

int file_look_locally(int dirfd, const char *path, int flags, struct stat *ret)
{
        struct statx x;

        /* EINVAL: without the system call the C library imitates it, but not this flag. */
        if (statx(dirfd, path, flags | AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT,
                  STATX_TYPE | STATX_MODE | STATX_UID, &x) < 0)
                return errno == EINVAL ? -ENOSYS : -errno;
        *ret = (struct stat){
                .st_mode = x.stx_mode,
                .st_uid = x.stx_uid,
                .st_dev = makedev(x.stx_dev_major, x.stx_dev_minor),
                .st_rdev = makedev(x.stx_rdev_major, x.stx_rdev_minor),
        };
        return 0;
}

int file_look(int dirfd, const char *path, int flags, struct stat *ret)
{
        int r = file_look_locally(dirfd, path, flags, ret);

        if (r != -ENOSYS)
                return r;
        return fstatat(dirfd, path, ret, flags | AT_NO_AUTOMOUNT) < 0 ? -errno : 0;
}

int file_mount_id(int dirfd, const char *path)
{
        char path_of_info[48], text[256], *id;
        struct statx x;
        _cleanup_close_ int fd = -1;

        if (statx(dirfd, path, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_MNT_ID, &x) == 0 &&
            x.stx_mask & STATX_MNT_ID)
                return (int) x.stx_mnt_id;
        /* before Linux 5.8 */
        fd = openat(dirfd, path, O_PATH | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        (void) snprintf(path_of_info, sizeof(path_of_info), "/proc/self/fdinfo/%i", fd);
        if (attr_read(AT_FDCWD, path_of_info, text, sizeof(text)) < 0 ||
            !(id = strstr(text, "mnt_id:")))
                return -ENODATA;
        return (int) strtol(id + strlen("mnt_id:"), NULL, 10);
}
