/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/feature/users.h"

#include "common/exit-codes.h"
#include "common/log.h"
#include "common/util.h"
#include "daemon/feature/lease.h"
#include "daemon/work/child.h"
#include "sys/io/clock.h"
#include "sys/udev/udevdb.h"
#include "sys/users/users.h"

/* ---- are there users? for the machine ---- */

/*
 * A search by name: finds the users of all processes, and adds inotify watches for the ends of the
 * uses. A child does it, since the path to a mount in another mount namespace may cross a file
 * system that hangs.
 */
struct probe_answer {
        bool in_use, told;
};

/* If a process opens and closes the disk all the time, not every close starts a search. */
#define PAUSE_USEC (250 * USEC_PER_MSEC)

static void probe_in_child(const struct roots *roots, void *data, int out)
{
        const struct entry *e = data;
        const struct disk *d = &e->life.disk;
        struct probe_answer a = {.in_use = true};
        struct user *users = NULL;
        size_t n = 0;

        if (users_find(roots, d->luns, d->n_luns, true, &users, &n) >=
            0) { /* unknown counts as in use */
                users_without(users, &n, lease_pid(e));
                a.in_use = n > 0;
                a.told = e->probe.ends >= 0 && e->watches.all &&
                         users_told(roots, d->luns, d->n_luns, e->probe.ends, users, n);
        }
        (void) !write(out, &a, sizeof(a));
}

static void probe_on_answer(void *data, const struct child_end *end);

static void probe_run(struct entry *e)
{
        int r;

        e->probe.ends = use_watch_ends(&e->manager->uses);
        e->probe.again = false;
        r = child_run(e->manager, probe_in_child, probe_on_answer, e, e->probe.ends,
                      &e->probe.worker);
        if (r >= 0)
                return;
        log_warning("%s: cannot look who uses it: %s", e->life.disk.facts.interface, strerror(-r));
        /* The event that caused this search does not come again: the machine looks later. */
        queue_event(e, &(struct event){.type = EVENT_USERS, .in_use = true, .by_name = true});
}

static void probe_on_pause(void *data)
{
        struct entry *e = data;

        if (e->probe.again && e->life.use.hidden && e->life.watched)
                probe_run(e);
}

static void probe_on_answer(void *data, const struct child_end *end)
{
        struct entry *e = data;
        struct probe_answer a = {.in_use = true};

        e->probe.worker = NULL;
        if (end->size == sizeof(a))
                memcpy(&a, end->answer, sizeof(a));
        (void) later_call(&e->probe.pause, e->manager->event, PAUSE_USEC, probe_on_pause, e);
        log_debug("%s: looked by name: %s%s", e->life.disk.facts.interface,
                  a.in_use ? "in use" : "nobody",
                  a.in_use && !a.told ? ", and no event tells when that ends" : "");
        queue_event(e, &(struct event){.type = EVENT_USERS,
                                       .in_use = a.in_use,
                                       .by_name = true,
                                       .told = a.told});
}

void use_probe_start(struct entry *e)
{
        e->probe.again = true;
        if (!e->probe.worker && !e->probe.pause.timer)
                probe_run(e);
}

/* ---- who are they? for clients ---- */

/*
 * The users of a disk are searched when a client asks: the machine needs to know only whether there
 * are any. Clients need the users of disks that wait, so a child walks over all processes. It walks
 * once for all such disks, and for all properties of one call. For all other disks only the tables
 * are read. For a new disk uasd searches only its users: no client asks for the others then.
 */
#define FRESH_USEC (500 * USEC_PER_MSEC)

static bool walk_asks(const struct entry *e, const struct entry *of, usec_t now)
{
        bool waits = e->life.disk.state == STATE_WAITING;

        return e == of || (of->announced && waits == (of->life.disk.state == STATE_WAITING) &&
                           now >= e->users_at + FRESH_USEC);
}

/* Returns the pool that udev found on this device, if it is imported. The labels of a former pool
 * may still be there. */
static char *pool_of(const struct roots *roots, const struct block *b)
{
        char id[UDEVDB_ID_MAX], text[256], *name;

        (void) snprintf(id, sizeof(id), "b%u:%u", b->major, b->minor);
        if (udevdb_property(roots, id, "ID_FS_TYPE", text, sizeof(text)) <= 0 ||
            !streq(text, "zfs_member") ||
            udevdb_property(roots, id, "ID_FS_LABEL_ENC", text, sizeof(text)) <= 0)
                return NULL;
        unescape(text);
        if (strchr(text, '/') ||
            faccessat(roots->proc, path_join("spl/kstat/zfs/", text, "/state"), F_OK, 0) < 0)
                return NULL;
        if (asprintf(&name, "ZFS pool %s", text) < 0)
                return NULL;
        return name;
}

/* ZFS claims the devices of a pool but does not list them. So udev's record names the pool. */
static char *pool_on(const struct roots *roots, const struct disk *d, const char *device)
{
        char *pool = NULL;

        for (size_t i = 0; i < d->n_luns; i++) {
                const struct lun *l = d->luns + i;

                if (!streq(l->disk.name, device))
                        continue;
                for (size_t p = 0; p < l->n_parts && !pool; p++)
                        pool = pool_of(roots, l->parts + p);
                return pool ?: pool_of(roots, &l->disk);
        }
        return NULL;
}

/* Adds users that only uasd-switch noticed: by their claim, or by the driver's count if the driver
 * has no other disk. */
static void users_take_claims(struct entry *e, struct users_of *of)
{
        const struct roots *roots = &e->manager->roots;
        const struct disk *d = &e->life.disk;
        const struct outcome *o = &d->outcome;
        _cleanup_free_ char *pool = NULL;

        if (o->claimed[0])
                users_claimed(&of->users, &of->n_users, o->claimed);
        if (o->opened[0])
                pool = pool_on(roots, d, o->opened);
        if (pool)
                users_claimed(&of->users, &of->n_users, o->opened);
        else if (o->opened[0])
                users_opened(&of->users, &of->n_users, o->opened);
        for (size_t i = 0; i < of->n_users; i++) {
                struct user *u = of->users + i;

                if (u->kind == USER_CLAIM && !u->command && !u->where)
                        u->where = pool_on(roots, d, u->device);
        }
}

static bool users_differ(const struct disk *d, const struct users_of *of)
{
        if (d->n_users != of->n_users)
                return true;
        for (size_t i = 0; i < of->n_users; i++) {
                const struct user *a = d->users + i, *b = of->users + i;

                if (a->kind != b->kind || a->pid != b->pid || !streq(a->device, b->device) ||
                    !streq(a->where ?: "", b->where ?: "") ||
                    !streq(a->namespace ?: "", b->namespace ?: ""))
                        return true;
        }
        return false;
}

/* Returns whether they are others than before. */
static bool users_take(struct entry *e, struct users_of *of)
{
        struct disk *d = &e->life.disk;
        bool others;

        users_without(of->users, &of->n_users, lease_pid(e));
        if (e->life.use.hidden && e->life.use.busy && d->outcome.code == UASD_EXIT_DEFERRED)
                users_take_claims(e, of);
        others = users_differ(d, of);
        users_free(d->users, d->n_users);
        d->users = of->users;
        d->n_users = of->n_users;
        return others;
}

/* ---- the walk over all processes, in a child ---- */

/* A call waits at most this long for a walk. Then it returns the users found last, and a signal
 * announces the new ones later. */
#define WALK_USEC (300 * USEC_PER_MSEC)
/* A longer walk hangs: it is given up. */
#define WALK_MOST_USEC (30 * USEC_PER_SEC)

struct users_walk {
        struct manager *manager;
        struct child *worker;
        usec_t began;
        bool late; /* no call waits for it any more */
        size_t n;
        struct entry **asked; /* NULL entry: the disk has gone */
        struct users_of *of;
};

static void walk_free(struct users_walk *w)
{
        free(w->asked);
        free(w->of);
        free(w);
}

/* The texts of a user. In the answer they come after it, each with its NUL. */
#define TEXTS_OF(u)                                                                                \
        {                                                                                          \
                &(u)->where, &(u)->namespace, &(u)->command, &(u)->unit, &(u)->via                 \
        }

static void walk_in_child(const struct roots *roots, void *data, int out)
{
        struct users_walk *w = data;
        FILE *f;

        if (users_find_each(roots, w->of, w->n, true) < 0)
                return;
        f = fdopen(out, "we");
        if (!f)
                return;
        for (struct users_of *of = w->of; of < w->of + w->n; of++) {
                (void) fwrite(&of->n_users, sizeof(of->n_users), 1, f);
                for (size_t i = 0; i < of->n_users; i++) {
                        struct user *u = &of->users[i];
                        char **const texts[] = TEXTS_OF(u);

                        (void) fwrite(u, sizeof(*u), 1, f);
                        for (size_t t = 0; t < ELEMENTSOF(texts); t++)
                                if (*texts[t])
                                        (void) fwrite(*texts[t], strlen(*texts[t]) + 1, 1, f);
                }
        }
        (void) fclose(f);
}

static bool walk_read_user(FILE *f, struct user *u)
{
        char **const texts[] = TEXTS_OF(u);
        bool whole = fread(u, sizeof(*u), 1, f) == 1;

        for (size_t t = 0; t < ELEMENTSOF(texts); t++) {
                bool follows = *texts[t]; /* the child's pointer */

                *texts[t] = NULL;
                whole = whole &&
                        (!follows || (getdelim(texts[t], &(size_t){0}, '\0', f) > 0 && !feof(f)));
        }
        return whole;
}

static bool walk_read_users(FILE *f, struct users_of *of)
{
        size_t n;

        if (fread(&n, sizeof(n), 1, f) != 1)
                return false;
        of->users = calloc(n + 1, sizeof(struct user));
        if (!of->users)
                return false;
        while (of->n_users < n)
                if (!walk_read_user(f, &of->users[of->n_users++]))
                        return false;
        return true;
}

static void walk_on_end(void *data, const struct child_end *end)
{
        struct users_walk *w = data;
        struct manager *m = w->manager;
        _cleanup_fclose_ FILE *f = NULL;
        usec_t now = now_monotonic();
        bool whole;

        if (end->size > 0)
                f = fmemopen((void *) end->answer, end->size, "r");
        whole = f;
        m->walk = NULL;
        m->walks_long = now >= w->began + WALK_USEC;
        for (size_t i = 0; i < w->n; i++) {
                struct entry *e = w->asked[i];

                w->of[i] = (struct users_of){0};
                whole = whole && walk_read_users(f, &w->of[i]);
                if (!whole || !e) {
                        users_free(w->of[i].users, w->of[i].n_users);
                        continue;
                }
                e->users_at = now_boottime();
                /* A client that reads them at each signal begins the next walk. */
                if (users_take(e, &w->of[i]) && w->late)
                        bus_disk_changed(e);
        }
        walk_free(w);
}

void users_forget(struct entry *e)
{
        struct users_walk *w = e->manager->walk;

        child_orphan(e->probe.worker);
        later_cancel(&e->probe.pause);
        for (size_t i = 0; w && i < w->n; i++)
                if (w->asked[i] == e)
                        w->asked[i] = NULL;
}

/* The walk takes long. If no user of a disk is known yet, the tables show most of them at once. */
static void walk_look_quickly(struct users_walk *w)
{
        for (size_t i = 0; i < w->n; i++)
                if (w->asked[i]->life.disk.n_users == 0 &&
                    users_find_each(&w->manager->roots, &w->of[i], 1, false) >= 0)
                        (void) users_take(w->asked[i], &w->of[i]);
}

/* Only one walk at a time: repeated calls of a client do not add more. */
static void walk_start(struct manager *m, struct users_walk *w)
{
        w->manager = m;
        w->began = now_monotonic();
        if (child_run(m, walk_in_child, walk_on_end, w, -1, &w->worker) < 0) {
                walk_free(w);
                return;
        }
        m->walk = w;
        if (m->walks_long ||
            !child_wait(w->worker, w->began + WALK_USEC)) { /* otherwise it has ended */
                w->late = true;
                walk_look_quickly(w);
        }
}

void users_cache_refresh(struct entry *e)
{
        struct manager *m = e->manager;
        usec_t now = now_boottime();
        bool deep = e->life.disk.state == STATE_WAITING;
        struct users_walk *w;

        if (now < e->users_at + FRESH_USEC)
                return;
        if (deep && m->walk) {
                if (now_monotonic() < m->walk->began + WALK_MOST_USEC)
                        return;
                child_orphan(m->walk->worker);
                walk_free(TAKE_PTR(m->walk));
        }
        w = calloc(1, sizeof(*w));
        if (!w)
                return;
        w->of = calloc(m->n_entries + 1, sizeof(*w->of));
        w->asked = calloc(m->n_entries + 1, sizeof(*w->asked));
        if (!w->of || !w->asked) {
                walk_free(w);
                return;
        }
        FOREACH_ENTRY (of, m) {
                const struct disk *d = &of->life.disk;

                if (!walk_asks(of, e, now))
                        continue;
                of->users_at = now;
                w->asked[w->n] = of;
                w->of[w->n++] = (struct users_of){.luns = d->luns, .n_luns = d->n_luns};
        }
        if (deep) {
                walk_start(m, w);
                return;
        }
        if (users_find_each(&m->roots, w->of, w->n, false) >= 0)
                for (size_t i = 0; i < w->n; i++)
                        (void) users_take(w->asked[i], &w->of[i]);
        walk_free(w);
}
