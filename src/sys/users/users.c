/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "common/util.h"
#include "sys/io/look.h"
#include "sys/io/sysfs.h"
#include "sys/users/search.h"
#include "sys/users/users.h"

/* Finds the users of several disks with a single walk over the processes. */

/* Makes a search with the LUNs of all disks, and room for all users found so far. */
static int users_search_together(const struct users_of *of, size_t n, struct user_search *ret)
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
static void users_lend(const struct users_of *of, size_t n, struct user_search *s)
{
        for (size_t i = 0; i < n; i++)
                for (size_t u = 0; u < of[i].n_users; u++)
                        s->list[s->n++] = of[i].users[u];
}

static bool user_is_of(const struct users_of *of, const struct user *u)
{
        return search_name(&(struct user_search){.luns = of->luns, .n_luns = of->n_luns},
                           u->device);
}

/* Gives each user behind `known` to its disk. A node belongs to only one disk. */
static int users_share_out(struct users_of *of, size_t n, struct user_search *s, size_t known)
{
        for (size_t at = known; at < s->n; at++) {
                struct users_of *whose = of;

                while (whose < of + n && !user_is_of(whose, &s->list[at]))
                        whose++;
                if (whose == of + n)
                        continue;
                if (!list_push(whose->users, whose->n_users, s->list[at]))
                        return -ENOMEM;
                s->list[at] = (struct user){};
        }
        return 0;
}

/* known: becomes the number of users in the list that the disks own. */
static int users_search_processes(struct users_of *of, size_t n, struct user_search *s,
                                  size_t *known)
{
        char namespace[64];
        int r = users_search_together(of, n, s);

        if (r < 0)
                return r;
        users_lend(of, n, s);
        *known = s->n;
        if (link_basename(s->roots->proc, "1/ns/mnt", namespace, sizeof(namespace)) > 0) {
                r = search_note_read(s, namespace);
                if (r < 0)
                        return r;
        }
        r = dir_each(s->roots->proc, ".", search_process, s);
        if (r < 0)
                return r;
        return users_share_out(of, n, s, *known);
}

static int users_walk_processes(const struct roots *roots, struct users_of *of, size_t n)
{
        struct user_search s = {.roots = roots};
        size_t known = 0;
        int r = users_search_processes(of, n, &s, &known);

        /* The first ones belong to the disks. */
        for (size_t i = 0; i < known; i++)
                s.list[i] = (struct user){};
        users_free(s.list, s.n);
        strv_free(s.namespaces);
        free((struct lun *) s.luns);
        return r;
}

static int users_search_tables(struct user_search *list, size_t n, bool deep)
{
        int r;

        for (size_t i = 0; i < n; i++) {
                r = search_stack(list + i);
                if (r < 0)
                        return r;
                if (!list[i].any)
                        continue;
                r = search_holders(list + i); /* the cheapest search */
                if (r < 0)
                        return r;
        }
        r = search_mounts(list, n, "1/mountinfo", NULL, NULL);
        if (r < 0)
                return r;
        r = search_swaps(list, n);
        if (r < 0)
                return r;
        for (size_t i = 0; i < n; i++) {
                r = search_holders(list + i);
                if (r < 0)
                        return r;
                r = search_btrfs(list + i);
                if (r < 0)
                        return r;
        }
        for (size_t i = 0; deep && i < n; i++) {
                r = search_targets(list + i);
                if (r < 0)
                        return r;
        }
        return search_loops(list, n, deep);
}

/* If a member leaves a running md array, neither of the two has a uevent. */
static bool users_is_array(const char *holder)
{
        return startswith(holder, "md");
}

int users_any(const struct roots *roots, const struct lun *luns, size_t n_luns)
{
        struct user_search s = {.roots = roots, .luns = luns, .n_luns = n_luns, .any = true};
        int r = users_search_tables(&s, 1, false);

        assert(r < 0 || s.n == 0);
        if (r == SEARCH_OVER) {
                assert(s.n == 1);
                r = 1;
                if (s.list->btrfs || (s.list->kind == USER_HOLDER && users_is_array(s.list->where)))
                        r = 2;
        }
        users_free(s.list, s.n);
        free(s.stack);
        return r;
}

static int users_read_tables(const struct roots *roots, struct users_of *of, size_t n, bool deep)
{
        _cleanup_free_ struct user_search *list = calloc(n + 1, sizeof(*list));
        int r = 0;

        if (!list)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                list[i] = (struct user_search){
                        .roots = roots, .luns = of[i].luns, .n_luns = of[i].n_luns};
        if (n > 0)
                r = users_search_tables(list, n, deep);
        for (size_t i = 0; i < n; i++) {
                of[i].users = list[i].list;
                of[i].n_users = list[i].n;
                free(list[i].stack);
        }
        return r;
}

int users_find_each(const struct roots *roots, struct users_of *of, size_t n, bool deep)
{
        int r = users_read_tables(roots, of, n, deep);

        if (r >= 0 && deep && n > 0)
                r = users_walk_processes(roots, of, n);
        for (size_t i = 0; r < 0 && i < n; i++) {
                users_free(TAKE_PTR(of[i].users), of[i].n_users);
                of[i].n_users = 0;
        }
        return r;
}

int users_find(const struct roots *roots, const struct lun *luns, size_t n_luns, bool deep,
               struct user **ret, size_t *ret_n)
{
        struct users_of of = {.luns = luns, .n_luns = n_luns};
        int r = users_find_each(roots, &of, 1, deep);

        if (r < 0)
                return r;
        *ret = of.users;
        *ret_n = of.n_users;
        return 0;
}

/* Checks whether the end of a use will be reported, and adds the watches that this needs. */

/*
 * A watch on any inode reports the end of its file system, after the last unmount in any namespace.
 * Unlike an open mount table of another namespace it pins nothing.
 */
static bool users_watch_end(int inotify, const struct roots *roots, const char *below)
{
        char path[PATH_MAX];

        return snprintf(path, sizeof(path), "/proc/self/fd/%i/%s", roots->proc, below) < PATH_MAX &&
               inotify_add_watch(inotify, path, IN_UNMOUNT | IN_DELETE_SELF) >= 0;
}

static bool mount_end_reported(const struct roots *roots, int inotify, const struct user *u)
{
        char path[PATH_MAX];

        if (!u->namespace) /* the mount table of PID 1 shows it */
                return true;
        if (snprintf(path, sizeof(path), "%i/root%s", (int) u->pid, u->where ?: "/") >=
            PATH_MAX / 2)
                return false;
        /* The watch comes first: if the mount is still there afterwards, the watch is on it. */
        return users_watch_end(inotify, roots, path) &&
               file_mount_id(roots->proc, path) == u->mount_id;
}

static bool open_end_reported(const struct roots *roots, const struct lun *luns, size_t n_luns,
                              int inotify, const struct user *u)
{
        struct stat its, ours;

        if (!u->via || fstatat(roots->proc, u->via, &its, 0) < 0)
                return false;
        /* inotify reports the close only on the node that was opened. A container may have another
         * node. */
        if (S_ISBLK(its.st_mode) || S_ISCHR(its.st_mode))
                return fstatat(roots->dev, u->device, &ours, 0) == 0 && its.st_dev == ours.st_dev &&
                       its.st_ino == ours.st_ino;
        return users_watch_end(inotify, roots, u->via) &&
               fstatat(roots->proc, u->via, &its, 0) == 0 &&
               luns_have(luns, n_luns, major(its.st_dev), minor(its.st_dev), NULL);
}

/* Uevents of the holder report its end, except for a member that leaves an array. For a btrfs its
 * mounts report it. */
static bool holder_end_reported(const struct user *users, size_t n, const struct user *u)
{
        if (u->btrfs)
                return search_is_mounted(
                        &(struct user_search){.list = (struct user *) users, .n = n}, u->device);
        return !u->where || !users_is_array(u->where);
}

bool users_told(const struct roots *roots, const struct lun *luns, size_t n_luns, int inotify,
                const struct user *users, size_t n)
{
        bool all = n > 0;

        for (size_t i = 0; i < n; i++) {
                const struct user *u = &users[i];

                switch (u->kind) {
                case USER_MOUNT:
                        all = mount_end_reported(roots, inotify, u) && all;
                        break;
                case USER_OPEN:
                        all = open_end_reported(roots, luns, n_luns, inotify, u) && all;
                        break;
                case USER_HOLDER:
                        all = all && holder_end_reported(users, n, u);
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
