/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/util.h"
#include "daemon/manager.h"
#include "sys/marks.h"
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

static void take_users(struct entry *e, struct users_of *of)
{
        struct disk *d = &e->life.disk;

        users_without(of->users, &of->n_users, lease_pid(e));
        if (e->life.hidden && e->life.in_use && d->outcome.claimed[0])
                users_claimed(&of->users, &of->n_users, d->outcome.claimed);
        if (e->life.hidden && e->life.in_use && d->outcome.opened[0])
                users_opened(&of->users, &of->n_users, d->outcome.opened);
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
