/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "common/names.h"
#include "common/util.h"
#include "sys/io/sysfs.h"
#include "sys/users/search.h"
#include "sys/users/users.h"

/*
 * Parses the four fields that uasd needs. libmount with its libraries takes longer to start than the udev helper needs for its
 * whole work. The helper reads these tables at every event of a block device.
 */

#define BLANK " \t\n"
/* stdio reads a file of procfs in pieces of 1 KiB. If a table changes between two of them, a line may be missed. */
#define BUFFER 8192
#define DELETED " (deleted)" /* d_path() appends it to the path of a file that has been removed */

static bool is_octal(const char *s)
{
        for (size_t i = 0; i < 3; i++)
                if (s[i] < '0' || s[i] > '7')
                        return false;
        return true;
}

/* mangle() of the kernel writes blanks, the backslash and '#' as "\040". */
static char *unmangle(char *s)
{
        char *to = s;

        if (!s)
                return NULL;
        for (const char *from = s; *from; to++) {
                *to = *from++;
                if (*to == '\\' && is_octal(from)) {
                        *to = (char) strtoul((const char[]){from[0], from[1], from[2], '\0'}, NULL, 8);
                        from += 3;
                }
        }
        *to = '\0';
        return s;
}

static const char *path_or_null(char *field)
{
        return field && field[0] == '/' ? unmangle(field) : NULL;
}

/* Cuts off the text before the next blank. mountinfo has a single blank between two fields. */
static char *take_field(char **rest)
{
        char *field = *rest, *end = strchrnul(field, ' ');

        *rest = *end ? end + 1 : end;
        *end = '\0';
        return field;
}

/* "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue" */
static bool parse_mountinfo(char *text, struct mount_line *ret)
{
        unsigned id, devno[2];
        char *fields[5];

        for (size_t i = 0; i < ELEMENTSOF(fields); i++)
                fields[i] = take_field(&text);
        if (!parse_numbers(fields[0], '\0', &id, 1) || !parse_numbers(fields[2], ':', devno, 2) || !*fields[4])
                return false;
        ret->id = (int) id;
        ret->devno = makedev(devno[0], devno[1]);
        ret->target = unmangle(fields[4]);
        text = strstr(text, " - ");
        if (text) {
                text += strlen(" - ");
                (void) take_field(&text); /* the type */
                ret->source = path_or_null(take_field(&text));
        }
        return true;
}

static bool parse_swap(char *text, struct mount_line *ret)
{
        char *save, *path = unmangle(strtok_r(text, BLANK, &save));
        size_t n = path ? strlen(path) : 0, end = strlen(DELETED);

        if (n > end && streq(path + n - end, DELETED))
                path[n - end] = '\0';
        ret->source = path && path[0] == '/' ? path : NULL;
        return ret->source;
}

static bool parse_fstab(char *text, struct mount_line *ret)
{
        char *save, *source = strtok_r(text, BLANK, &save), *target = strtok_r(NULL, BLANK, &save);

        if (!target || source[0] == '#')
                return false;
        ret->source = path_or_null(source);
        ret->target = unmangle(target);
        return true;
}

static bool parse(enum mount_table table, char *text, struct mount_line *ret)
{
        switch (table) {
        case TABLE_MOUNTINFO:
                return parse_mountinfo(text, ret);
        case TABLE_SWAPS:
                return parse_swap(text, ret);
        case TABLE_FSTAB:
                return parse_fstab(text, ret);
        }
        return false;
}

int mount_lines(int dirfd, const char *path, enum mount_table table, int (*fn)(const struct mount_line *line, void *data),
                void *data)
{
        char buffer[BUFFER];
        _cleanup_fclose_ FILE *f = NULL;
        _cleanup_free_ char *text = NULL;
        size_t room = 0;
        int fd, k = 0;

        fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || !(f = fdopen(fd, "re"))) {
                (void) close_keep_errno(fd);
                return -errno;
        }
        (void) setvbuf(f, buffer, _IOFBF, sizeof(buffer));
        while (k >= 0 && (k = read_line(f, &text, &room)) > 0) {
                struct mount_line line = {};

                if (parse(table, text, &line))
                        k = fn(&line, data);
        }
        return k < 0 ? k : 0;
}

/* Lists all btrfs. There may be none. */
static int list_btrfs(const struct user_search *s, char ***ret)
{
        int n = dir_list(s->r->sys, "fs/btrfs", "", ret);

        return n == -ENOENT ? 0 : n;
}

/* Lists the members of one. It may have gone, and "features" is none. */
static int list_members(const struct user_search *s, const char *uuid, char ***ret)
{
        int n = dir_list(s->r->sys, path_join("fs/btrfs/", uuid, "/devices"), "", ret);

        return n == -ENOENT || n == -ENOTDIR ? 0 : n;
}

/* Returns 1 if a btrfs has this member, 0, or -errno. ret_ours gets a member that is on the disk, or NULL. */
static int btrfs_has(const struct user_search *s, const char *uuid, const char *member, const char **ret_ours)
{
        _cleanup_strv_ char **names = NULL;
        int n = list_members(s, uuid, &names);
        const char *ours = NULL;
        bool found = false;

        if (n < 0)
                return n;
        for (char **name = names; name && *name; name++) {
                found = found || search_is_called(s, *name, member);
                if (!ours && !(ours = search_name(s, *name)))
                        ours = search_stacked_name(s, *name);
        }
        *ret_ours = ours;
        return found;
}

/*
 * btrfs has its own device number, and its source names only one of its members. sysfs lists the members. Returns 0 and the
 * device of the disk that is mounted, or NULL, or -errno.
 */
static int mount_device(const struct user_search *s, const struct mount_line *line, const char **ret)
{
        _cleanup_strv_ char **uuids = NULL;
        const char *source;
        int r;

        *ret = NULL;
        if (luns_have(s->luns, s->n_luns, major(line->devno), minor(line->devno), ret) ||
            (*ret = search_stacked_number(s, major(line->devno), minor(line->devno))))
                return 0;
        if (!line->source || !startswith(line->source, "/dev/") || major(line->devno) != 0)
                return 0;
        source = line->source + strlen("/dev/");
        r = list_btrfs(s, &uuids);
        for (char **uuid = uuids; r >= 0 && uuid && *uuid; uuid++) {
                r = btrfs_has(s, *uuid, source, ret);
                if (r != 0)
                        return r < 0 ? r : 0;
        }
        if (r >= 0)
                *ret = search_name(s, source);
        return r < 0 ? r : 0;
}

/* A copy that propagation made in a service's namespace disappears with the mount itself: it is not a separate user. */
static bool listed(const struct user_search *s, const char *device, const char *where)
{
        for (size_t i = 0; i < s->n; i++)
                if (s->list[i].kind == USER_MOUNT && !s->list[i].namespace && streq(s->list[i].device, device) &&
                    s->list[i].where && where && streq(s->list[i].where, where))
                        return true;
        return false;
}

struct mounts {
        struct user_search *list;
        size_t n;
        const char *namespace, *pid;
};

static int add_mount(const struct mounts *m, struct user_search *s, const struct mount_line *line)
{
        const char *device;
        struct user *u;
        int k = mount_device(s, line, &device);

        if (k < 0 || !device || (m->namespace && (search_enough(s, device) || listed(s, device, line->target))))
                return k;
        k = search_add_named(s, USER_MOUNT, device, line->target);
        if (k < 0 || !m->namespace)
                return k;
        u = &s->list[s->n - 1];
        u->namespace = strdup(m->namespace);
        u->mount_id = line->id;
        user_take_process(s->r, u, (pid_t) atol(m->pid));
        return u->namespace ? 0 : -ENOMEM;
}

static int take_mount(const struct mount_line *line, void *data)
{
        const struct mounts *m = data;
        int k = 0;

        for (size_t i = 0; i < m->n && k >= 0; i++)
                k = add_mount(m, m->list + i, line);
        return k;
}

int search_mounts(struct user_search *list, size_t n, const char *path, const char *namespace, const char *pid)
{
        return mount_lines(list->r->proc, path, TABLE_MOUNTINFO, take_mount, &(struct mounts){list, n, namespace, pid});
}

const char *search_path(const struct user_search *s, const char *path)
{
        const char *name = startswith(path, "/dev/"), *device = NULL;
        struct statx x;

        if (name && ((device = search_name(s, name)) || (device = search_stacked_name(s, name))))
                return device;
        if (s->any || statx(AT_FDCWD, path, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE, &x) < 0 || !S_ISBLK(x.stx_mode))
                return NULL;
        if (!luns_have(s->luns, s->n_luns, x.stx_rdev_major, x.stx_rdev_minor, &device))
                device = search_stacked_number(s, x.stx_rdev_major, x.stx_rdev_minor);
        return device;
}

static int take_swap(const struct mount_line *line, void *data)
{
        const struct mounts *m = data;
        int k = 0;

        for (size_t i = 0; i < m->n && k >= 0; i++) {
                struct user_search *s = m->list + i;
                const char *device = line->source ? search_path(s, line->source) : NULL;

                k = device ? search_add_named(s, USER_SWAP, device, line->source) : 0;
        }
        return k;
}

int search_swaps(struct user_search *list, size_t n)
{
        int k = mount_lines(list->r->proc, "swaps", TABLE_SWAPS, take_swap, &(struct mounts){.list = list, .n = n});

        return k == -ENOENT ? 0 : k;
}

static int add_btrfs(struct user_search *s, const char *uuid)
{
        _cleanup_strv_ char **names = NULL;
        int n = list_members(s, uuid, &names), k = n < 0 ? n : 0;

        for (int i = 0; k >= 0 && i < n; i++) {
                const char *device = search_name(s, names[i]);

                if (!device)
                        continue;
                k = search_add_named(s, USER_HOLDER, device, path_join(HOLDER_BTRFS, uuid));
                if (k >= 0 || k == SEARCH_OVER)
                        s->list[s->n - 1].btrfs = true;
        }
        return k;
}

int search_holders(struct user_search *s)
{
        int k = 0;

        for (size_t i = 0; k >= 0 && i < s->n_stack; i++)
                if (s->stack[i].direct)
                        k = search_add_named(s, USER_HOLDER, s->stack[i].device, s->stack[i].block.name);
        return k;
}

int search_btrfs(struct user_search *s)
{
        _cleanup_strv_ char **uuids = NULL;
        int n = list_btrfs(s, &uuids), k = n < 0 ? n : 0;

        for (int i = 0; k >= 0 && i < n; i++)
                k = add_btrfs(s, uuids[i]);
        return k;
}
