/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "common/util.h"
#include "sys/io/sysfs.h"
#include "sys/users/search.h"
#include "sys/users/users.h"

/* Finds the users of several disks with a single walk over the processes. */

/* Makes a search with the LUNs of all disks, and room for all users found so far. */
static int search_together(const struct users_of *of, size_t n, struct user_search *ret)
{
        size_t n_luns = 0, n_users = 0, at = 0;
        struct lun *luns;

        for (size_t i = 0; i < n; i++) {
                n_luns += of[i].n_luns;
                n_users += of[i].n_users;
        }
        luns = calloc(n_luns + 1, sizeof(*luns));
        ret->list = calloc(n_users + 1, sizeof(*ret->list));
        ret->luns = luns;
        if (!luns || !ret->list)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                for (size_t l = 0; l < of[i].n_luns; l++)
                        luns[at++] = of[i].luns[l];
        ret->n_luns = at;
        return 0;
}

/* Puts the users into the list. The disks keep owning them. */
static void lend_users(const struct users_of *of, size_t n, struct user_search *s)
{
        for (size_t i = 0; i < n; i++)
                for (size_t u = 0; u < of[i].n_users; u++)
                        s->list[s->n++] = of[i].users[u];
}

static bool is_of(const struct users_of *of, const struct user *u)
{
        return search_name(&(struct user_search){.luns = of->luns, .n_luns = of->n_luns}, u->device);
}

/* Gives each user behind `known` to its disk. A node belongs to only one disk. */
static int share_out(struct users_of *of, size_t n, struct user_search *s, size_t known)
{
        for (size_t at = known; at < s->n; at++) {
                struct users_of *whose = of;

                while (whose < of + n && !is_of(whose, &s->list[at]))
                        whose++;
                if (whose == of + n)
                        continue;
                if (!list_push(whose->users, whose->n_users, s->list[at]))
                        return -ENOMEM;
                s->list[at] = (struct user){};
        }
        return 0;
}

static int walk(const struct roots *r, struct users_of *of, size_t n)
{
        struct user_search s = {.r = r};
        char namespace[64];
        size_t known = 0;
        int k = search_together(of, n, &s);

        if (k >= 0) {
                lend_users(of, n, &s);
                known = s.n;
                if (link_basename(r->proc, "1/ns/mnt", namespace, sizeof(namespace)) > 0)
                        k = search_note_read(&s, namespace);
                if (k >= 0)
                        k = dir_each(r->proc, ".", search_process, &s);
        }
        if (k >= 0)
                k = share_out(of, n, &s, known);
        /* The first ones belong to the disks. */
        for (size_t i = 0; i < known; i++)
                s.list[i] = (struct user){};
        users_free(s.list, s.n);
        strv_free(s.namespaces);
        free((struct lun *) s.luns);
        return k < 0 ? k : 0;
}

static int search_tables(struct user_search *list, size_t n, bool deep)
{
        int k = 0;

        for (size_t i = 0; k >= 0 && i < n; i++) {
                k = search_stack(list + i);
                if (k >= 0 && list[i].any) /* the cheapest search */
                        k = search_holders(list + i);
        }
        if (k >= 0)
                k = search_mounts(list, n, "1/mountinfo", NULL, NULL);
        if (k >= 0)
                k = search_swaps(list, n);
        for (size_t i = 0; k >= 0 && i < n; i++) {
                k = search_holders(list + i);
                if (k >= 0)
                        k = search_btrfs(list + i);
        }
        for (size_t i = 0; k >= 0 && deep && i < n; i++)
                k = search_targets(list + i);
        if (k >= 0)
                k = search_loops(list, n, deep);
        return k;
}

bool users_is_array(const char *holder)
{
        return startswith(holder, "md");
}

int users_any(const struct roots *r, const struct lun *luns, size_t n_luns)
{
        struct user_search s = {.r = r, .luns = luns, .n_luns = n_luns, .any = true};
        int k = search_tables(&s, 1, false);

        assert(k == SEARCH_OVER ? s.n == 1 : k < 0 || s.n == 0);
        if (k == SEARCH_OVER)
                k = s.list->btrfs || (s.list->kind == USER_HOLDER && users_is_array(s.list->where)) ? 2 : 1;
        users_free(s.list, s.n);
        free(s.stack);
        return k;
}

static int read_tables(const struct roots *r, struct users_of *of, size_t n, bool deep)
{
        _cleanup_free_ struct user_search *list = calloc(n + 1, sizeof(*list));
        int k;

        if (!list)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                list[i] = (struct user_search){.r = r, .luns = of[i].luns, .n_luns = of[i].n_luns};
        k = n > 0 ? search_tables(list, n, deep) : 0;
        for (size_t i = 0; i < n; i++) {
                of[i].users = list[i].list;
                of[i].n_users = list[i].n;
                free(list[i].stack);
        }
        return k;
}

int users_find_each(const struct roots *r, struct users_of *of, size_t n, bool deep)
{
        int k = read_tables(r, of, n, deep);

        if (k >= 0 && deep && n > 0)
                k = walk(r, of, n);
        if (k < 0)
                for (size_t i = 0; i < n; i++) {
                        users_free(TAKE_PTR(of[i].users), of[i].n_users);
                        of[i].n_users = 0;
                }
        return k;
}

int users_find(const struct roots *r, const struct lun *luns, size_t n_luns, bool deep, struct user **ret, size_t *ret_n)
{
        struct users_of of = {.luns = luns, .n_luns = n_luns};
        int k = users_find_each(r, &of, 1, deep);

        if (k < 0)
                return k;
        *ret = of.users;
        *ret_n = of.n_users;
        return 0;
}

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

/* Uevents of the holder report its end, except for a member that leaves an array. For a btrfs its mounts report it. */
static bool holder_told(const struct user *users, size_t n, const struct user *u)
{
        if (u->btrfs)
                return search_is_mounted(&(struct user_search){.list = (struct user *) users, .n = n}, u->device);
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
