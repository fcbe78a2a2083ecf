/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/users-search.h"

#include <fcntl.h>
#include <libmount/libmount.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "common/util.h"
#include "sys/sysfs.h"

const char *search_name(const struct search *s, const char *name)
{
        for (size_t i = 0; i < s->n_luns; i++) {
                const struct lun *l = &s->luns[i];

                if (streq(l->disk.name, name))
                        return l->disk.name;
                if (l->sg[0] && streq(l->sg, name))
                        return l->sg;
                for (size_t p = 0; p < l->n_parts; p++)
                        if (streq(l->parts[p].name, name))
                                return l->parts[p].name;
        }
        return NULL;
}

struct user *search_add(struct search *s, enum user_kind kind, const char *device)
{
        struct user *grown = realloc(s->list, (s->n + 1) * sizeof(*grown));

        if (!grown)
                return NULL;
        s->list = grown;
        grown[s->n] = (struct user){ .kind = kind };
        (void) copy_string(grown[s->n].device, sizeof(grown[s->n].device), device);
        return &grown[s->n++];
}

static int add_named(struct search *s, enum user_kind kind, const char *device, const char *where)
{
        struct user *u = search_add(s, kind, device);

        if (!u || (where && !(u->where = strdup(where))))
                return -ENOMEM;
        return 0;
}

static FILE *open_table(const struct roots *r, const char *path)
{
        int fd = openat(r->proc, path, O_RDONLY | O_CLOEXEC);
        FILE *f = fd < 0 ? NULL : fdopen(fd, "re");

        if (!f)
                (void) close_keep_errno(fd);
        return f;
}

static void table_unrefp(struct libmnt_table **t)
{
        mnt_unref_table(*t);
}

/* name: what libmount tells the format by. */
static int parse_table(const struct roots *r, const char *path, const char *name, struct libmnt_table **ret)
{
        _cleanup_(table_unrefp) struct libmnt_table *t = NULL;
        _cleanup_fclose_ FILE *f = open_table(r, path);
        int k;

        if (!f)
                return -errno;
        t = mnt_new_table();
        if (!t)
                return -ENOMEM;
        k = mnt_table_parse_stream(t, f, name);
        if (k != 0)
                return k < 0 ? k : -EBADMSG;
        *ret = TAKE_PTR(t);
        return 0;
}

struct members {
        const struct search *s;
        const char *source; /* one of them; NULL once it has been met */
        const char *ours;
};

static int btrfs_look_at(const char *name, void *data)
{
        struct members *m = data;

        if (m->source && streq(m->source, name))
                m->source = NULL;
        if (!m->ours)
                m->ours = search_name(m->s, name);
        return 0;
}

static int btrfs_among(const char *uuid, void *data)
{
        struct members *m = data, here = { m->s, m->source, NULL };
        char path[128];

        (void) snprintf(path, sizeof(path), "fs/btrfs/%.64s/devices", uuid);
        if (dir_each(m->s->r->sys, path, btrfs_look_at, &here) < 0 || here.source)
                return 0;
        m->ours = here.ours;
        return 1;
}

/* btrfs has a device number of its own, and its source names but one of its members: those stand in sysfs. */
static const char *mount_device(const struct search *s, struct libmnt_fs *fs)
{
        const char *source, *device = NULL;
        dev_t devno = mnt_fs_get_devno(fs);
        struct members m = { .s = s };

        if (luns_have(s->luns, s->n_luns, major(devno), minor(devno), &device))
                return device;
        source = mnt_fs_get_srcpath(fs);
        if (!source || strncmp(source, "/dev/", 5) != 0 || major(devno) != 0)
                return NULL;
        m.source = source + 5;
        return dir_each(s->r->sys, "fs/btrfs", btrfs_among, &m) > 0 ? m.ours : search_name(s, m.source);
}

/* A copy that propagation made in a service's namespace goes with the mount itself: it is no user of its own. */
static bool listed(const struct search *s, const char *device, const char *where)
{
        for (size_t i = 0; i < s->n; i++)
                if (s->list[i].kind == USER_MOUNT && !s->list[i].namespace && streq(s->list[i].device, device) &&
                    s->list[i].where && where && streq(s->list[i].where, where))
                        return true;
        return false;
}

int search_mounts(struct search *s, const char *path, const char *namespace, const char *pid)
{
        _cleanup_(table_unrefp) struct libmnt_table *t = NULL;
        struct libmnt_iter *i;
        struct libmnt_fs *fs;
        int k = parse_table(s->r, path, "/proc/self/mountinfo", &t);

        if (k < 0)
                return k;
        i = mnt_new_iter(MNT_ITER_FORWARD);
        if (!i)
                return -ENOMEM;
        while (k == 0 && mnt_table_next_fs(t, i, &fs) == 0) {
                const char *device = mount_device(s, fs);
                if (!device || (namespace && listed(s, device, mnt_fs_get_target(fs))))
                        continue;
                k = add_named(s, USER_MOUNT, device, mnt_fs_get_target(fs));
                if (k == 0 && namespace) {
                        s->list[s->n - 1].namespace = strdup(namespace);
                        s->list[s->n - 1].mount_id = mnt_fs_get_id(fs);
                        search_who(s, &s->list[s->n - 1], pid);
                }
        }
        mnt_free_iter(i);
        return k;
}

static int find_swaps(struct search *s)
{
        _cleanup_(table_unrefp) struct libmnt_table *t = NULL;
        struct libmnt_iter *i;
        struct libmnt_fs *fs;
        int k = parse_table(s->r, "swaps", "/proc/swaps", &t);

        if (k < 0)
                return k == -ENOENT ? 0 : k;
        i = mnt_new_iter(MNT_ITER_FORWARD);
        if (!i)
                return -ENOMEM;
        while (k == 0 && mnt_table_next_fs(t, i, &fs) == 0) {
                const char *source = mnt_fs_get_source(fs), *device = NULL;
                if (source && strncmp(source, "/dev/", 5) == 0)
                        device = search_name(s, source + 5);
                if (device)
                        k = add_named(s, USER_SWAP, device, NULL);
        }
        mnt_free_iter(i);
        return k;
}

static int add_holder(const char *name, void *data)
{
        struct search *s = data;

        return add_named(s, USER_HOLDER, s->block, name);
}

static int find_holders(struct search *s, const char *block)
{
        char path[64];
        int k;

        (void) snprintf(path, sizeof(path), "class/block/%s/holders", block);
        s->block = block;
        k = dir_each(s->r->sys, path, add_holder, s);
        return k == -ENOENT ? 0 : k;
}

struct btrfs {
        struct search *s;
        const char *uuid;
};

static int btrfs_member(const char *name, void *data)
{
        struct btrfs *b = data;
        const char *device = search_name(b->s, name);
        char where[80];

        if (!device)
                return 0;
        (void) snprintf(where, sizeof(where), "btrfs %s", b->uuid);
        return add_named(b->s, USER_HOLDER, device, where);
}

static int btrfs_filesystem(const char *name, void *data)
{
        struct search *s = data;
        char path[128];
        int k;

        (void) snprintf(path, sizeof(path), "fs/btrfs/%.64s/devices", name);
        k = dir_each(s->r->sys, path, btrfs_member, &(struct btrfs){ s, name });
        return k == -ENOENT || k == -ENOTDIR ? 0 : k;
}

static int find_loop(const char *name, void *data)
{
        struct search *s = data;
        char path[64], file[PATH_MAX];
        const char *device;

        if (strncmp(name, "loop", 4) != 0)
                return 0;
        (void) snprintf(path, sizeof(path), "block/%.16s/loop/backing_file", name);
        if (attr_read(s->r->sys, path, file, sizeof(file)) <= 5 || strncmp(file, "/dev/", 5) != 0)
                return 0;
        device = search_name(s, file + 5);
        return device ? add_named(s, USER_LOOP, device, name) : 0;
}

int users_find(const struct roots *r, const struct lun *luns, size_t n_luns, bool deep, struct user **ret, size_t *ret_n)
{
        struct search s = { .r = r, .luns = luns, .n_luns = n_luns };
        char namespace[64];
        int k = 0;

        if (link_basename(r->proc, "1/ns/mnt", namespace, sizeof(namespace)) > 0)
                (void) search_first_sight(&s, namespace);
        k = search_mounts(&s, "1/mountinfo", NULL, NULL);
        if (k >= 0)
                k = find_swaps(&s);
        for (size_t i = 0; k >= 0 && i < n_luns; i++) {
                if (!luns[i].disk.name[0])
                        continue;
                k = find_holders(&s, luns[i].disk.name);
                for (size_t p = 0; k >= 0 && p < luns[i].n_parts; p++)
                        k = find_holders(&s, luns[i].parts[p].name);
        }
        if (k >= 0 && (k = dir_each(r->sys, "fs/btrfs", btrfs_filesystem, &s)) == -ENOENT)
                k = 0;
        if (k >= 0 && (k = dir_each(r->sys, "block", find_loop, &s)) == -ENOENT)
                k = 0;
        if (k >= 0 && deep)
                k = dir_each(r->proc, ".", search_process, &s);
        strv_free(s.namespaces);
        if (k < 0) {
                users_free(s.list, s.n);
                return k;
        }
        *ret = s.list;
        *ret_n = s.n;
        return 0;
}
