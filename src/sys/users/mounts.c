/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/users/mounts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "common/names.h"
#include "common/util.h"
#include "sys/io/look.h"
#include "sys/io/sysfs.h"
#include "sys/users/search.h"
#include "sys/users/users.h"
#include "sys/users/who.h"

/*
 * Parses the four fields that uasd needs. In instructions, libmount takes 730,000 to load and 9,500
 * a line, and this parser 1,700 a line. uasd-switch takes 720,000 from its start to the open of its
 * disk. uasd reads mountinfo at each change of a mount while a disk waits, perhaps with thousands
 * of lines. `uasctl list` takes 1.7 million, so fstab is not read with libmount either.
 */

#define BLANK " \t\n"
#define DELETED " (deleted)" /* d_path() appends it to the path of a file that has been removed */

static bool is_octal(const char *s)
{
        for (size_t i = 0; i < 3; i++)
                if (s[i] < '0' || s[i] > '7')
                        return false;
        return true;
}

/* mangle() of the kernel writes blanks, the backslash and '#' as "\040". */
static char *mount_unmangle(char *s)
{
        char *to = s;

        if (!s)
                return NULL;
        for (const char *from = s; *from; to++) {
                *to = *from++;
                if (*to == '\\' && is_octal(from)) {
                        *to = (char) strtoul((const char[]){from[0], from[1], from[2], '\0'}, NULL,
                                             8);
                        from += 3;
                }
        }
        *to = '\0';
        return s;
}

static const char *path_or_null(char *field)
{
        if (!field || field[0] != '/')
                return NULL;
        return mount_unmangle(field);
}

/* Cuts off the text before the next blank. mountinfo has a single blank between two fields. */
static char *mountinfo_take_field(char **rest)
{
        char *field = *rest, *end = strchrnul(field, ' ');

        *rest = *end ? end + 1 : end;
        *end = '\0';
        return field;
}

/* A server or a program answers for these file systems, or does not. */
static bool type_is_remote(const char *type)
{
        static const char *const types[] = {"9p", "afs", "ceph", "cifs", "fuse", "nfs", "smb"};

        for (size_t i = 0; i < ELEMENTSOF(types); i++)
                if (startswith(type, types[i]))
                        return true;
        return false;
}

/* "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue" */
static bool mount_parse_mountinfo(char *text, struct mount_table *ret)
{
        unsigned id, devno[2];
        char *fields[5];

        for (size_t i = 0; i < ELEMENTSOF(fields); i++)
                fields[i] = mountinfo_take_field(&text);
        if (!parse_numbers(fields[0], '\0', &id, 1) || !parse_numbers(fields[2], ':', devno, 2) ||
            !*fields[4])
                return false;
        ret->id = (int) id;
        ret->devno = makedev(devno[0], devno[1]);
        ret->target = mount_unmangle(fields[4]);
        text = strstr(text, " - ");
        if (text) {
                text += strlen(" - ");
                ret->remote = type_is_remote(mountinfo_take_field(&text));
                ret->source = path_or_null(mountinfo_take_field(&text));
        }
        return true;
}

static bool mount_parse_swap(char *text, struct mount_table *ret)
{
        char *save, *path = mount_unmangle(strtok_r(text, BLANK, &save));
        size_t n, end = strlen(DELETED);

        if (!path || path[0] != '/')
                return false;
        n = strlen(path);
        if (n > end && streq(path + n - end, DELETED))
                path[n - end] = '\0';
        ret->source = path;
        return true;
}

static bool mount_parse_fstab(char *text, struct mount_table *ret)
{
        char *save, *source = strtok_r(text, BLANK, &save), *target = strtok_r(NULL, BLANK, &save);

        if (!target || source[0] == '#')
                return false;
        ret->source = path_or_null(source);
        ret->target = mount_unmangle(target);
        return true;
}

int mount_table_open(struct mount_table *t, enum mount_format format, int dirfd, const char *path)
{
        int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);

        t->format = format;
        t->text = NULL;
        t->room = 0;
        t->file = fd < 0 ? NULL : fdopen(fd, "re");
        if (!t->file) {
                (void) close_keep_errno(fd);
                return -errno;
        }
        (void) setvbuf(t->file, t->buffer, _IOFBF, sizeof(t->buffer));
        return 0;
}

int mount_table_next(struct mount_table *t)
{
        static bool (*const parse[])(char *text, struct mount_table *ret) = {
                [MOUNTS_OF_PROCESS] = mount_parse_mountinfo,
                [MOUNTS_SWAPS] = mount_parse_swap,
                [MOUNTS_FSTAB] = mount_parse_fstab,
        };
        int r;

        do {
                r = read_line(t->file, &t->text, &t->room);
                if (r <= 0)
                        return r;
                t->source = t->target = NULL;
                t->devno = 0;
                t->id = 0;
        } while (!parse[t->format](t->text, t));
        return 1;
}

void mount_table_close(struct mount_table *t)
{
        if (t->file)
                (void) fclose(t->file);
        free(t->text);
}

/* Lists all btrfs. There may be none. */
static int btrfs_list(const struct user_search *s, char ***ret)
{
        int n = dir_list(s->roots->sys, "fs/btrfs", "", ret);

        if (n == -ENOENT)
                return 0;
        return n;
}

/* Lists the members of one. It may have gone, and "features" is none. */
static int btrfs_list_members(const struct user_search *s, const char *uuid, char ***ret)
{
        int n = dir_list(s->roots->sys, path_join("fs/btrfs/", uuid, "/devices"), "", ret);

        if (n == -ENOENT || n == -ENOTDIR)
                return 0;
        return n;
}

/* Returns 1 if a btrfs has this member, 0, or -errno. ret_ours gets a member that is on the disk,
 * or NULL. */
static int btrfs_has(const struct user_search *s, const char *uuid, const char *member,
                     const char **ret_ours)
{
        _cleanup_strv_ char **names = NULL;
        int n = btrfs_list_members(s, uuid, &names);
        const char *ours = NULL;
        bool found = false;

        if (n < 0)
                return n;
        for (char **name = names; name && *name; name++) {
                found = found || search_is_called(s, *name, member);
                if (!ours)
                        ours = search_name(s, *name) ?: search_stacked_name(s, *name);
        }
        *ret_ours = ours;
        return found;
}

/*
 * btrfs has its own device number, and its source names only one of its members. sysfs lists the
 * members. Returns 0 and the device of the disk that is mounted, or NULL, or -errno.
 */
static int mount_device(const struct user_search *s, const struct mount_table *line,
                        const char **ret)
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
        r = btrfs_list(s, &uuids);
        if (r < 0)
                return r;
        for (char **uuid = uuids; uuid && *uuid; uuid++) {
                r = btrfs_has(s, *uuid, source, ret);
                if (r < 0)
                        return r;
                if (r > 0)
                        return 0;
        }
        *ret = search_name(s, source);
        return 0;
}

/* A copy that propagation made in a service's namespace disappears with the mount itself: it is not
 * a separate user. */
static bool mount_is_listed(const struct user_search *s, const char *device, const char *where)
{
        for (size_t i = 0; i < s->n; i++)
                if (s->list[i].kind == USER_MOUNT && !s->list[i].namespace &&
                    streq(s->list[i].device, device) && s->list[i].where && where &&
                    streq(s->list[i].where, where))
                        return true;
        return false;
}

static int search_add_mount(struct user_search *s, const struct mount_table *line,
                            const char *namespace, const char *pid)
{
        const char *device;
        struct user *u;
        int r = mount_device(s, line, &device);

        if (r < 0 || !device)
                return r;
        if (namespace && (search_enough(s, device) || mount_is_listed(s, device, line->target)))
                return 0;
        r = search_add_named(s, USER_MOUNT, device, line->target);
        if (r < 0 || !namespace)
                return r;
        u = &s->list[s->n - 1];
        u->namespace = strdup(namespace);
        u->mount_id = line->id;
        user_take_process(s->roots, u, (pid_t) atol(pid));
        if (!u->namespace)
                return -ENOMEM;
        return 0;
}

int search_mounts(struct user_search *list, size_t n, const char *path, const char *namespace,
                  const char *pid)
{
        _cleanup_(mount_table_close) struct mount_table table;
        int r = mount_table_open(&table, MOUNTS_OF_PROCESS, list->roots->proc, path);

        if (r < 0)
                return r;
        while ((r = mount_table_next(&table)) > 0)
                for (size_t i = 0; i < n; i++) {
                        r = search_add_mount(list + i, &table, namespace, pid);
                        if (r < 0)
                                return r;
                }
        return r;
}

const char *search_path(const struct user_search *s, const char *path)
{
        const char *name = startswith(path, "/dev/"), *device = NULL;
        struct stat st;

        if (name)
                device = search_name(s, name) ?: search_stacked_name(s, name);
        if (device)
                return device;
        if (s->any || file_look(AT_FDCWD, path, 0, &st) < 0 || !S_ISBLK(st.st_mode))
                return NULL;
        if (!luns_have(s->luns, s->n_luns, major(st.st_rdev), minor(st.st_rdev), &device))
                device = search_stacked_number(s, major(st.st_rdev), minor(st.st_rdev));
        return device;
}

static int search_add_swap(struct user_search *s, const char *source)
{
        const char *device = search_path(s, source);

        if (!device)
                return 0;
        return search_add_named(s, USER_SWAP, device, source);
}

int search_swaps(struct user_search *list, size_t n)
{
        _cleanup_(mount_table_close) struct mount_table table;
        int r = mount_table_open(&table, MOUNTS_SWAPS, list->roots->proc, "swaps");

        if (r == -ENOENT)
                return 0;
        if (r < 0)
                return r;
        while ((r = mount_table_next(&table)) > 0)
                for (size_t i = 0; table.source && i < n; i++) {
                        r = search_add_swap(list + i, table.source);
                        if (r < 0)
                                return r;
                }
        return r;
}

static int search_add_btrfs(struct user_search *s, const char *uuid)
{
        _cleanup_strv_ char **names = NULL;
        int n = btrfs_list_members(s, uuid, &names);

        if (n < 0)
                return n;
        for (int i = 0; i < n; i++) {
                const char *device = search_name(s, names[i]);
                int r;

                if (!device)
                        continue;
                r = search_add_named(s, USER_HOLDER, device, path_join(HOLDER_BTRFS, uuid));
                if (r < 0 && r != SEARCH_OVER)
                        return r;
                s->list[s->n - 1].btrfs = true;
                if (r < 0)
                        return r;
        }
        return 0;
}

int search_holders(struct user_search *s)
{
        for (size_t i = 0; i < s->n_stack; i++) {
                const struct stacked *holder = s->stack + i;
                int r;

                if (!holder->direct)
                        continue;
                r = search_add_named(s, USER_HOLDER, holder->device, holder->block.name);
                if (r < 0)
                        return r;
        }
        return 0;
}

int search_btrfs(struct user_search *s)
{
        _cleanup_strv_ char **uuids = NULL;
        int n = btrfs_list(s, &uuids);

        if (n < 0)
                return n;
        for (int i = 0; i < n; i++) {
                int r = search_add_btrfs(s, uuids[i]);

                if (r < 0)
                        return r;
        }
        return 0;
}
