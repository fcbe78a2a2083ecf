/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "common/child.h"
#include "common/log.h"
#include "daemon/manager.h"
#include "sys/users/users.h"

/*
 * A look by name: every process is asked, and the ends of what they do are arranged to be told. In a child, since
 * the way to a mount in somebody else's namespace may lead over a file system that does not answer.
 */
struct look {
        struct entry *entry;
        pid_t pid;
        int out;
        sd_event_source *child, *pause;
        bool again; /* something happened meanwhile */
};

struct answer {
        bool in_use, told;
};

/* Somebody who opens and closes it all the time is not followed step by step. */
#define PAUSE_USEC (250 * USEC_PER_MSEC)

static void look_free(struct look *l)
{
        sd_event_source_disable_unref(l->child);
        sd_event_source_disable_unref(l->pause);
        (void) close_keep_errno(l->out);
        free(l);
}

void look_orphan(struct look *l)
{
        if (!l)
                return;
        l->entry = NULL;
        if (l->pid > 0)
                (void) kill(l->pid, SIGKILL); /* reaped when it goes; it may hang */
        else
                look_free(l);
}

__attribute__((noreturn)) static void in_child(struct entry *e, int ends, int out)
{
        struct manager *m = e->manager;
        struct disk *d = &e->life.disk;
        struct answer a = { .in_use = true };
        struct user *users = NULL;
        size_t n = 0;

        if (users_find(&m->roots, d->luns, d->n_luns, true, &users, &n) >= 0) { /* not knowing is not being free */
                users_without(users, &n, lease_pid(e));
                a.in_use = n > 0;
                a.told = ends >= 0 && e->nodes_watched && users_told(&m->roots, d->luns, d->n_luns, ends, users, n);
        }
        (void) !write(out, &a, sizeof(a));
        _exit(0);
}

static int on_end(sd_event_source *s, const siginfo_t *si, void *data);

static int look_start(struct look *l)
{
        struct manager *m = l->entry->manager;
        const struct roots *r = &m->roots;
        int pipe_fd[2], ends = watch_ends(m->watch);
        pid_t pid;

        if (pipe2(pipe_fd, O_CLOEXEC | O_NONBLOCK) < 0)
                return -errno;
        const int keep[] = { r->sys, r->proc, r->dev, r->run, r->etc, r->lib, r->var, ends, pipe_fd[1] };
        pid = child_fork(keep, ELEMENTSOF(keep));
        if (pid == 0)
                in_child(l->entry, ends, pipe_fd[1]);
        (void) close(pipe_fd[1]);
        if (pid < 0) {
                (void) close(pipe_fd[0]);
                return pid;
        }
        l->pid = pid;
        l->out = pipe_fd[0];
        l->again = false;
        return sd_event_add_child(m->event, &l->child, l->pid, WEXITED, on_end, l);
}

static int on_pause(sd_event_source *s, uint64_t usec, void *data)
{
        struct look *l = data;

        l->pause = sd_event_source_disable_unref(s);
        if (!l->again || !l->entry->life.hidden || !l->entry->life.watched || look_start(l) < 0) {
                l->entry->look = NULL;
                look_free(l);
        }
        return 0;
}

static int on_end(sd_event_source *s, const siginfo_t *si, void *data)
{
        struct look *l = data;
        struct entry *e = l->entry;
        struct answer a = { .in_use = true };

        l->pid = 0;
        if (!e) {
                look_free(l);
                return 0;
        }
        if (read(l->out, &a, sizeof(a)) != sizeof(a))
                a = (struct answer){ .in_use = true };
        l->out = close_keep_errno(l->out);
        l->child = sd_event_source_disable_unref(l->child);
        if (sd_event_add_time_relative(e->manager->event, &l->pause, CLOCK_MONOTONIC, PAUSE_USEC, 0, on_pause, l) < 0) {
                e->look = NULL;
                look_free(l);
        }
        log_debug("%s: looked by name: %s%s", e->life.disk.facts.interface, a.in_use ? "in use" : "nobody",
                  a.in_use && !a.told ? ", and nobody will tell when that ends" : "");
        manager_seen(e, &(struct event){ .type = EVENT_USERS, .in_use = a.in_use, .by_name = true, .told = a.told });
        return 0;
}

void look_by_name(struct entry *e)
{
        int r;

        if (e->look) {
                e->look->again = true;
                return;
        }
        e->look = calloc(1, sizeof(*e->look));
        if (!e->look)
                return;
        *e->look = (struct look){ .entry = e, .out = -1 };
        r = look_start(e->look);
        if (r < 0) {
                log_warning("%s: cannot look who uses it: %s", e->life.disk.facts.interface, strerror(-r));
                look_orphan(TAKE_PTR(e->look));
        }
}
