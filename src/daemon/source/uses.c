/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/source/sources.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/param.h>

#include "common/log.h"
#include "daemon/manager.h"
#include "sys/io/clock.h"
#include "sys/io/sysfs.h"

/*
 * Notices the end of uses of disks that wait. Sources: PID 1's mount table, the swaps, closes of
 * the nodes, uevents of stacked devices (uevents.c), and the end of file systems that are mounted
 * elsewhere. Reading the mount table takes time in proportion to its length. So after a change uasd
 * first reads only the reference count of the disk drivers, which changes with every open and close
 * of their disks.
 */

/* A file system is detached first and releases its device later: after a moment, or a long sync. */
#define AGAIN_FIRST_USEC (5 * USEC_PER_MSEC)
#define AGAIN_MOST 10

/*
 * The checks take at most an eightieth of the time, so that a storm of mounts costs little, however
 * long the table is. In a pause uasd does not listen to the tables. A change after a pause is
 * checked at once.
 */
#define PAUSE_FACTOR 80
#define PAUSE_LEAST_USEC AGAIN_FIRST_USEC
#define PAUSE_MOST_USEC (10 * USEC_PER_SEC)

static uint64_t reference_count(struct use_watch *w)
{
        int sys = w->manager->roots.sys;
        uint64_t storage, uas;

        /* A built-in driver has no count, so every change is checked. uas cannot be built in if
         * usb_storage is not. */
        if (attr_read_uint(sys, "module/usb_storage/refcnt", 10, &storage) < 0)
                return UINT64_MAX;
        if (attr_read_uint(sys, "module/uas/refcnt", 10, &uas) < 0)
                uas = 0;
        /* Two counters in one number, so that a move from one to the other is a change. */
        return storage << 32 | uas;
}

/*
 * The kernel reports a change of a table once, to the next poll. epoll_ctl() polls, too, when
 * sd-event begins to listen: earlier changes are no event.
 */
static void use_watch_listen(struct use_watch *w, bool on)
{
        for (size_t i = 0; i < ELEMENTSOF(w->tables) && w->tables[i]; i++)
                (void) sd_event_source_set_enabled(w->tables[i], on ? SD_EVENT_ON : SD_EVENT_OFF);
}

/* Called when the disks have been checked. */
static void use_watch_set_pause(struct manager *m, void *data)
{
        usec_t now = now_monotonic(), pause = (now - m->uses.began) * PAUSE_FACTOR;

        m->uses.next = now + MIN(MAX(pause, PAUSE_LEAST_USEC), PAUSE_MOST_USEC);
}

static void use_watch_look_at_all(struct use_watch *w)
{
        struct manager *m = w->manager;

        w->count = reference_count(w);
        w->began = now_monotonic();
        FOREACH_ENTRY (e, m)
                if (e->life.watched)
                        queue_entry(e, POST_LOOK);
        queue_call(m, use_watch_set_pause, NULL);
}

static int use_watch_on_again(sd_event_source *s, usec_t usec, void *data);

static void use_watch_check_later(struct use_watch *w, usec_t delay)
{
        w->again = sd_event_source_disable_unref(w->again);
        if (sd_event_add_time_relative(w->manager->event, &w->again, CLOCK_MONOTONIC, delay, 1,
                                       use_watch_on_again, w) >= 0)
                return;
        use_watch_listen(w, true); /* nothing else ends the pause */
        use_watch_look_at_all(w);
}

static void use_watch_check(struct use_watch *w)
{
        usec_t now = now_monotonic();
        uint64_t count;

        if (now < w->next) {
                use_watch_listen(w, false);
                use_watch_check_later(w, w->next - now);
                return;
        }
        w->next = now + PAUSE_LEAST_USEC;
        count = reference_count(w);
        /* After the last repeat the mount is detached, but processes still use it. */
        if (count != UINT64_MAX && count == w->count && w->repeats++ < AGAIN_MOST)
                use_watch_check_later(w, AGAIN_FIRST_USEC << (w->repeats - 1));
        else
                use_watch_look_at_all(w);
}

void use_watch_changed(struct use_watch *w)
{
        if (w->n == 0)
                return;
        w->repeats = 0;
        use_watch_check(w);
}

void use_watch_lost(struct use_watch *w)
{
        if (w->n == 0)
                return;
        use_watch_look_at_all(w);
        /* check again as after an event: a use that is about to end may not have released the disk
         * yet */
        use_watch_changed(w);
}

bool use_watch_pauses(const struct use_watch *w)
{
        return now_monotonic() < w->next;
}

static int use_watch_on_again(sd_event_source *s, usec_t usec, void *data)
{
        struct use_watch *w = data;

        if (w->n == 0)
                return 0;
        use_watch_listen(w, true);
        use_watch_check(w);
        return 0;
}

static int use_watch_on_table(sd_event_source *s, int fd, uint32_t revents, void *data)
{
        use_watch_changed(data);
        return 0;
}

/* Any event: the file system may not have released its device yet. */
static int use_watch_on_ends(sd_event_source *s, int fd, uint32_t revents, void *data)
{
        char buffer[4096];

        while (read(fd, buffer, sizeof(buffer)) > 0)
                ;
        use_watch_changed(data);
        return 0;
}

static void use_watch_forget_ends(struct use_watch *w)
{
        w->ends_source = sd_event_source_disable_unref(w->ends_source);
        w->ends = close_keep_errno(w->ends);
}

int use_watch_ends(struct use_watch *w)
{
        int r;

        if (w->ends >= 0)
                return w->ends;
        w->ends = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
        if (w->ends < 0)
                return -errno;
        r = sd_event_add_io(w->manager->event, &w->ends_source, w->ends, EPOLLIN, use_watch_on_ends,
                            w);
        if (r < 0) {
                use_watch_forget_ends(w);
                return r;
        }
        return w->ends;
}

static int use_watch_on_inotify(sd_event_source *s, int fd, uint32_t revents, void *data)
{
        struct use_watch *w = data;
        struct manager *m = w->manager;
        bool lost = false;
        union {
                struct inotify_event event;
                char bytes[4096];
        } buffer;
        ssize_t n = read(fd, &buffer, sizeof(buffer));

        for (ssize_t at = 0; at < n;) {
                struct inotify_event *i = (struct inotify_event *) (buffer.bytes + at);

                at += (ssize_t) (sizeof(*i) + i->len);
                lost = lost || (i->mask & IN_Q_OVERFLOW);
                FOREACH_ENTRY (e, m)
                        for (size_t j = 0; j < e->watches.n; j++)
                                if (e->watches.list[j] == i->wd && !(i->mask & IN_IGNORED))
                                        queue_entry(e, POST_LOOK);
        }
        if (lost)
                use_watch_lost(w);
        return 0;
}

static int use_watch_open_table(struct use_watch *w, const char *path, sd_event_source **ret)
{
        int fd = openat(w->manager->roots.proc, path, O_RDONLY | O_CLOEXEC);
        int r;

        if (fd < 0)
                return -errno;
        r = sd_event_add_io(w->manager->event, ret, fd, EPOLLPRI, use_watch_on_table, w);
        if (r < 0)
                return r;
        return sd_event_source_set_enabled(*ret, SD_EVENT_OFF); /* on only while a disk waits */
}

int use_watch_start(struct manager *m)
{
        struct use_watch *w = &m->uses;
        int r;

        *w = (struct use_watch){
                .manager = m, .ends = -1, .inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK)};
        if (w->inotify < 0)
                return -errno;
        r = use_watch_open_table(w, "1/mountinfo", &w->tables[0]);
        if (r < 0)
                return r;
        (void) use_watch_open_table(w, "swaps", &w->tables[1]);
        return sd_event_add_io(m->event, &w->inotify_source, w->inotify, EPOLLIN,
                               use_watch_on_inotify, w);
}

static bool use_watch_node(struct use_watch *w, struct entry *e, const char *name)
{
        char path[64];
        int wd;

        (void) snprintf(path, sizeof(path), "/proc/self/fd/%i/%s", w->manager->roots.dev, name);
        wd = inotify_add_watch(w->inotify, path, IN_CLOSE);
        if (wd < 0) {
                log_debug("%s: cannot watch %s: %m", e->life.disk.facts.interface, name);
                return false;
        }
        for (size_t i = 0; i < e->watches.n; i++)
                if (e->watches.list[i] == wd)
                        return true;
        return list_push(e->watches.list, e->watches.n, wd);
}

void use_watch_nodes(struct entry *e)
{
        struct use_watch *w = &e->manager->uses;
        struct disk *d = &e->life.disk;
        bool all = true;

        for (size_t i = 0; i < d->n_luns; i++) {
                if (d->luns[i].sg[0])
                        all = use_watch_node(w, e, d->luns[i].sg) && all;
                FOREACH_NODE (b, d->luns + i)
                        all = use_watch_node(w, e, b->name) && all;
        }
        e->watches.all = all;
}

void use_watch_add(struct entry *e)
{
        struct use_watch *w = &e->manager->uses;

        use_watch_nodes(e);
        e->watches.counted = true;
        if (w->n++ == 0)
                use_watch_listen(w, true);
        w->count = UINT64_MAX - 1; /* the next change is checked, independent of the count */
}

void use_watch_remove(struct entry *e)
{
        struct use_watch *w = &e->manager->uses;

        if (!e->watches.counted)
                return;
        e->watches.counted = false;
        for (size_t i = 0; i < e->watches.n; i++)
                (void) inotify_rm_watch(w->inotify, e->watches.list[i]);
        free(TAKE_PTR(e->watches.list));
        e->watches.n = 0;
        if (--w->n > 0)
                return;
        use_watch_forget_ends(w);
        use_watch_listen(w, false);
}
