/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <limits.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "common/util.h"
#include "sys/users/users.h"

/* Whether the end of a use will be told, and having it told. */

/*
 * A watch on any inode tells when its whole file system is gone, from whatever namespace it was mounted last. Unlike an open
 * mount table of another namespace it pins nothing.
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

        if (!u->namespace) /* PID 1's table tells */
                return true;
        if (snprintf(path, sizeof(path), "%i/root%s", (int) u->pid, u->where ? u->where : "/") >= PATH_MAX / 2)
                return false;
        /* Watched first: if the mount is still there then, the watch is on it. */
        return watch_end(inotify, r, path) && statx(r->proc, path, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_MNT_ID, &x) == 0 &&
               (x.stx_mask & STATX_MNT_ID) && x.stx_mnt_id == (uint64_t) u->mount_id;
}

static bool open_told(const struct roots *r, const struct lun *luns, size_t n_luns, int inotify, const struct user *u)
{
        struct stat its, ours;

        if (!u->via || fstatat(r->proc, u->via, &its, 0) < 0)
                return false;
        /* The close of a node is told to who watches that very node: in a container there may be another one. */
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

/* By uevents of the holder. Not of a member that leaves an array; of a file system its mounts tell. */
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
                case USER_LOOP: /* uevents, and the close of the node */
                        all = all && !u->unsure;
                        break;
                case USER_SWAP: /* the table of swaps */
                        break;
                case USER_CLAIM:
                case _USER_KIND_MAX:
                        all = false;
                        break;
                }
        }
        return all;
}
