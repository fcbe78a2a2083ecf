/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>

#include "common/util.h"
#include "sys/io/sysfs.h"
#include "sys/users/users.h"

/*
 * The quick answer, for the udev helper at every block event and for the daemon at every change of the mount
 * table: no library, nothing allocated but what directory walks need.
 */

/* mountinfo's third field is major:minor; btrfs shows a number of its own there and is asked in sysfs. */
static int mounted(const struct roots *r, const struct lun *luns, size_t n)
{
        _cleanup_fclose_ FILE *f = NULL;
        _cleanup_free_ char *line = NULL;
        size_t room = 0;
        int fd = openat(r->proc, "1/mountinfo", O_RDONLY | O_CLOEXEC);

        if (fd < 0 || !(f = fdopen(fd, "re"))) {
                (void) close_keep_errno(fd);
                return -errno;
        }
        while (getline(&line, &room, f) >= 0) {
                unsigned major, minor;
                if (sscanf(line, "%*u %*u %u:%u", &major, &minor) == 2 && luns_have(luns, n, major, minor, NULL))
                        return 1;
        }
        return ferror(f) ? -EIO : 0;
}

static bool luns_have_name(const struct lun *luns, size_t n, const char *name)
{
        for (size_t i = 0; i < n; i++) {
                if (streq(luns[i].disk.name, name))
                        return true;
                for (size_t p = 0; p < luns[i].n_parts; p++)
                        if (streq(luns[i].parts[p].name, name))
                                return true;
        }
        return false;
}

static int swapped(const struct roots *r, const struct lun *luns, size_t n)
{
        _cleanup_fclose_ FILE *f = NULL;
        _cleanup_free_ char *line = NULL;
        size_t room = 0;
        int fd = openat(r->proc, "swaps", O_RDONLY | O_CLOEXEC);

        if (fd < 0 || !(f = fdopen(fd, "re"))) {
                (void) close_keep_errno(fd);
                return errno == ENOENT ? 0 : -errno;
        }
        while (getline(&line, &room, f) >= 0) {
                char name[BLOCK_NAME_MAX];
                if (sscanf(line, "/dev/%31[^ \t]", name) == 1 && luns_have_name(luns, n, name))
                        return 1;
        }
        return ferror(f) ? -EIO : 0;
}

struct walk {
        const struct roots *r;
        const struct lun *luns;
        size_t n;
};

static int holder(const char *name, void *data)
{
        return users_is_array(name) ? 2 : 1;
}

bool users_is_array(const char *holder)
{
        return strncmp(holder, "md", 2) == 0;
}

static int name_is_ours(const char *name, void *data)
{
        struct walk *w = data;

        return luns_have_name(w->luns, w->n, name);
}

static int held_by_other(const struct roots *r, const char *block)
{
        char path[64];
        int k;

        (void) snprintf(path, sizeof(path), "class/block/%s/holders", block);
        k = dir_each(r->sys, path, holder, NULL);
        return k == -ENOENT ? 0 : k;
}

/* Mounted where PID 1 sees it, by whichever of its members. */
static bool btrfs_is_mounted(const struct roots *r, const char *devices)
{
        _cleanup_fclose_ FILE *f = NULL;
        _cleanup_free_ char *line = NULL;
        char member[BLOCK_NAME_MAX], path[192];
        size_t room = 0;
        int fd = openat(r->proc, "1/mountinfo", O_RDONLY | O_CLOEXEC);

        if (fd < 0 || !(f = fdopen(fd, "re"))) {
                (void) close_keep_errno(fd);
                return false;
        }
        while (getline(&line, &room, f) >= 0) {
                const char *type = strstr(line, " - btrfs /dev/");

                if (!type || sscanf(type, " - btrfs /dev/%31[^ /]", member) != 1)
                        continue;
                (void) snprintf(path, sizeof(path), "%s/%s", devices, member);
                if (faccessat(r->sys, path, F_OK, 0) == 0)
                        return true;
        }
        return false;
}

static int btrfs_filesystem(const char *name, void *data)
{
        struct walk *w = data;
        char path[128];
        int k;

        (void) snprintf(path, sizeof(path), "fs/btrfs/%.64s/devices", name);
        k = dir_each(w->r->sys, path, name_is_ours, w);
        if (k > 0)
                return btrfs_is_mounted(w->r, path) ? 1 : 2;
        return k == -ENOENT || k == -ENOTDIR ? 0 : k;
}

static int loop_device(const char *name, void *data)
{
        struct walk *w = data;
        char path[64], file[256];

        if (strncmp(name, "loop", 4) != 0)
                return 0;
        (void) snprintf(path, sizeof(path), "block/%.16s/loop/backing_file", name);
        /* Only the path: a look by name finds a loop device over another node of the disk (loops.c). */
        return attr_read(w->r->sys, path, file, sizeof(file)) > 5 && strncmp(file, "/dev/", 5) == 0 &&
               luns_have_name(w->luns, w->n, file + 5);
}

int users_any(const struct roots *r, const struct lun *luns, size_t n_luns)
{
        struct walk w = { r, luns, n_luns };
        int k;

        for (size_t i = 0; i < n_luns; i++) {
                if (!luns[i].disk.name[0])
                        continue;
                k = held_by_other(r, luns[i].disk.name);
                for (size_t p = 0; k == 0 && p < luns[i].n_parts; p++)
                        k = held_by_other(r, luns[i].parts[p].name);
                if (k != 0)
                        return k;
        }
        k = mounted(r, luns, n_luns);
        if (k == 0)
                k = swapped(r, luns, n_luns);
        if (k == 0 && (k = dir_each(r->sys, "fs/btrfs", btrfs_filesystem, &w)) == -ENOENT)
                k = 0;
        if (k == 0 && (k = dir_each(r->sys, "block", loop_device, &w)) == -ENOENT)
                k = 0;
        return k;
}
