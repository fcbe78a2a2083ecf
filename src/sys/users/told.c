/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <limits.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "common/util.h"
#include "sys/users/users.h"

/* Checks whether the end of a use will be reported, and adds the watches that this needs. */

/*
 * A watch on any inode reports the end of its file system, after the last unmount in any namespace. Unlike an open mount table of
 * another namespace it pins nothing.
 */
static bool watch_end(int inotify, const struct roots *r, const char *below)
{
        char path[PATH_MAX];

        return snprintf(path, sizeof(path), "/proc/self/fd/%i/%s", r->proc, below) < PATH_MAX &&
               inotify_add_watch(inotify, path, IN_UNMOUNT | IN_DELETE_SELF) >= 0;
}

static bool mount_told(const struct roots *r, int inotify, const struct user *u)
{
        char path[PATH_MAX];
        struct statx x;

        if (!u->namespace) /* the mount table of PID 1 shows it */
                return true;
        if (snprintf(path, sizeof(path), "%i/root%s", (int) u->pid, u->where ? u->where : "/") >= PATH_MAX / 2)
                return false;
        /* The watch comes first: if the mount is still there afterwards, the watch is on it. */
        return watch_end(inotify, r, path) && statx(r->proc, path, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_MNT_ID, &x) == 0 &&
               (x.stx_mask & STATX_MNT_ID) && x.stx_mnt_id == (uint64_t) u->mount_id;
}

static bool open_told(const struct roots *r, const struct lun *luns, size_t n_luns, int inotify, const struct user *u)
{
        struct stat its, ours;

        if (!u->via || fstatat(r->proc, u->via, &its, 0) < 0)
                return false;
        /* inotify reports the close only on the node that was opened. A container may have another node. */
        if (S_ISBLK(its.st_mode) || S_ISCHR(its.st_mode))
                return fstatat(r->dev, u->device, &ours, 0) == 0 && its.st_dev == ours.st_dev && its.st_ino == ours.st_ino;
        return watch_end(inotify, r, u->via) && fstatat(r->proc, u->via, &its, 0) == 0 &&
               luns_have(luns, n_luns, major(its.st_dev), minor(its.st_dev), NULL);
}

static bool btrfs_mounted(const struct user *users, size_t n, const struct user *u)
{
        for (size_t i = 0; i < n; i++)
                if (users[i].kind == USER_MOUNT && streq(users[i].device, u->device))
                        return true;
        return false;
}

/* Uevents of the holder report its end, except for a member that leaves an array. For a btrfs its mounts report it. */
static bool holder_told(const struct user *users, size_t n, const struct user *u)
{
        if (u->btrfs)
                return btrfs_mounted(users, n, u);
        return !u->where || !users_is_array(u->where);
}

bool users_told(const struct roots *r, const struct lun *luns, size_t n_luns, int inotify, const struct user *users, size_t n)
{
        bool all = n > 0;

        for (size_t i = 0; i < n; i++) {
                const struct user *u = &users[i];

                switch (u->kind) {
                case USER_MOUNT:
                        all = mount_told(r, inotify, u) && all;
                        break;
                case USER_OPEN:
                        all = open_told(r, luns, n_luns, inotify, u) && all;
                        break;
                case USER_HOLDER:
                        all = all && holder_told(users, n, u);
                        break;
                case USER_LOOP: /* reported by uevents, and by the close of the node */
                        all = all && !u->unsure;
                        break;
                case USER_SWAP: /* reported by the swap table */
                        break;
                case USER_CLAIM:
                case _USER_KIND_MAX:
                        all = false;
                        break;
                }
        }
        return all;
}
