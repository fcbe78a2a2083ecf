/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/work/use-probe.h"

#include "common/log.h"
#include "daemon/feature/lease.h"
#include "daemon/queue.h"
#include "daemon/source/uses.h"
#include "daemon/work/child.h"
#include "sys/users/users.h"

/*
 * A search by name: finds the users of all processes, and adds inotify watches for the ends of the uses. A child does it, since
 * the path to a mount in another mount namespace may cross a file system that hangs.
 */
struct use_probe {
        struct entry *entry;
        struct child *worker; /* NULL: it has answered, and the pause runs */
        sd_event_source *pause;
        int ends;   /* the inotify, or -errno */
        bool again; /* an event came meanwhile */
};

struct probe_answer {
        bool in_use, told;
};

/* If a process opens and closes the disk all the time, not every close starts a search. */
#define PAUSE_USEC (250 * USEC_PER_MSEC)

void use_probe_orphan(struct use_probe *p)
{
        if (!p)
                return;
        child_orphan(p->worker);
        sd_event_source_disable_unref(p->pause);
        free(p);
}

static void probe_end(struct use_probe *p)
{
        p->entry->probe = NULL;
        use_probe_orphan(p);
}

static void in_child(const struct roots *r, void *data, int out)
{
        const struct use_probe *p = data;
        const struct entry *e = p->entry;
        const struct disk *d = &e->life.disk;
        struct probe_answer a = {.in_use = true};
        struct user *users = NULL;
        size_t n = 0;

        if (users_find(r, d->luns, d->n_luns, true, &users, &n) >= 0) { /* unknown counts as in use */
                users_without(users, &n, lease_pid(e));
                a.in_use = n > 0;
                a.told = p->ends >= 0 && e->watches.all && users_told(r, d->luns, d->n_luns, p->ends, users, n);
        }
        (void) !write(out, &a, sizeof(a));
}

static void on_answer(void *data, const struct child_end *end);

static int start(struct use_probe *p)
{
        struct manager *m = p->entry->manager;

        p->ends = use_watch_ends(m->uses);
        p->again = false;
        return child_run(m, in_child, on_answer, p, p->ends, &p->worker);
}

static int on_pause(sd_event_source *s, usec_t usec, void *data)
{
        struct use_probe *p = data;

        p->pause = sd_event_source_disable_unref(s);
        if (!p->again || !p->entry->life.use.hidden || !p->entry->life.watched || start(p) < 0)
                probe_end(p);
        return 0;
}

static void on_answer(void *data, const struct child_end *end)
{
        struct use_probe *p = data;
        struct entry *e = p->entry;
        struct probe_answer a = {.in_use = true};

        p->worker = NULL;
        if (end->size == sizeof(a))
                memcpy(&a, end->answer, sizeof(a));
        if (sd_event_add_time_relative(e->manager->event, &p->pause, CLOCK_MONOTONIC, PAUSE_USEC, 0, on_pause, p) < 0)
                probe_end(p);
        log_debug("%s: looked by name: %s%s", e->life.disk.facts.interface, a.in_use ? "in use" : "nobody",
                  a.in_use && !a.told ? ", and nobody will tell when that ends" : "");
        queue_event(e, &(struct event){.type = EVENT_USERS, .in_use = a.in_use, .by_name = true, .told = a.told});
}

void use_probe_start(struct entry *e)
{
        int r;

        if (e->probe) {
                e->probe->again = true;
                return;
        }
        e->probe = calloc(1, sizeof(*e->probe));
        if (!e->probe)
                return;
        e->probe->entry = e;
        r = start(e->probe);
        if (r < 0) {
                log_warning("%s: cannot look who uses it: %s", e->life.disk.facts.interface, strerror(-r));
                probe_end(e->probe);
        }
}
