/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/util.h"
#include "daemon/manager.h"
#include "sys/marks.h"
#include "sys/udevdb.h"
#include "sys/users.h"

/*
 * Who uses a disk is looked up when somebody asks: the machine needs to know only whether. The walk over every process is made
 * for disks that wait, where the answer is what one asks for: one walk for all of them, and for all properties of one question.
 * The tables are read once for all others.
 */
#define FRESH_USEC (500 * USEC_PER_MSEC)

static bool is_asked(const struct entry *e, const struct entry *of, uint64_t now)
{
        bool waits = e->life.disk.state == STATE_WAITING;

        return e == of || (waits == (of->life.disk.state == STATE_WAITING) && now >= e->users_at + FRESH_USEC);
}

/* The pool that udev found on this device, if it is imported: whose it was before it may be there still. */
static char *pool_of(const struct roots *r, const struct block *b)
{
        char id[UDEVDB_ID_MAX], text[256], path[sizeof(text) + 32], *name;

        (void) snprintf(id, sizeof(id), "b%u:%u", b->major, b->minor);
        if (udevdb_property(r, id, "ID_FS_TYPE", text, sizeof(text)) <= 0 || !streq(text, "zfs_member") ||
            udevdb_property(r, id, "ID_FS_LABEL_ENC", text, sizeof(text)) <= 0)
                return NULL;
        udevdb_decode(text);
        (void) snprintf(path, sizeof(path), "spl/kstat/zfs/%s/state", text);
        if (strchr(text, '/') || faccessat(r->proc, path, F_OK, 0) < 0)
                return NULL;
        return asprintf(&name, "ZFS pool %s", text) < 0 ? NULL : name;
}

/* ZFS claims what a pool is on and shows it nowhere: who met it asks udev whose the disk is. */
static char *pool_on(const struct roots *r, const struct disk *d, const char *device)
{
        char *pool = NULL;

        for (size_t i = 0; i < d->n_luns; i++) {
                const struct lun *l = d->luns + i;

                if (!streq(l->disk.name, device))
                        continue;
                for (size_t p = 0; p < l->n_parts && !pool; p++)
                        pool = pool_of(r, l->parts + p);
                return pool ?: pool_of(r, &l->disk);
        }
        return NULL;
}

/* Whom uasd-switch met: by his claim, or, where the driver has no other disk, already by its count. */
static void take_met(struct entry *e, struct users_of *of)
{
        const struct roots *r = &e->manager->roots;
        const struct disk *d = &e->life.disk;
        const struct outcome *o = &d->outcome;
        _cleanup_free_ char *pool = o->opened[0] ? pool_on(r, d, o->opened) : NULL;

        if (o->claimed[0])
                users_claimed(&of->users, &of->n_users, o->claimed);
        if (pool)
                users_claimed(&of->users, &of->n_users, o->opened);
        else if (o->opened[0])
                users_opened(&of->users, &of->n_users, o->opened);
        for (size_t i = 0; i < of->n_users; i++) {
                struct user *u = of->users + i;

                if (u->kind == USER_CLAIM && !u->command && !u->where)
                        u->where = pool_on(r, d, u->device);
        }
}

static void take_users(struct entry *e, struct users_of *of)
{
        struct disk *d = &e->life.disk;

        users_without(of->users, &of->n_users, lease_pid(e));
        if (e->life.hidden && e->life.in_use)
                take_met(e, of);
        users_free(d->users, d->n_users);
        d->users = of->users;
        d->n_users = of->n_users;
}

void who_uses(struct entry *e)
{
        struct manager *m = e->manager;
        uint64_t now = now_boottime();
        _cleanup_free_ struct users_of *of = NULL;
        _cleanup_free_ struct entry **asked = NULL;
        size_t n = 0;

        if (now < e->users_at + FRESH_USEC)
                return;
        of = calloc(m->n_entries + 1, sizeof(*of));
        asked = calloc(m->n_entries + 1, sizeof(struct entry *));
        if (!of || !asked)
                return;
        for (size_t i = 0; i < m->n_entries; i++) {
                const struct disk *d = &m->entries[i]->life.disk;

                if (!is_asked(m->entries[i], e, now))
                        continue;
                m->entries[i]->users_at = now;
                asked[n] = m->entries[i];
                of[n++] = (struct users_of){ .luns = d->luns, .n_luns = d->n_luns };
        }
        if (users_find_each(&m->roots, of, n, e->life.disk.state == STATE_WAITING) < 0)
                return;
        for (size_t i = 0; i < n; i++)
                take_users(asked[i], &of[i]);
}
