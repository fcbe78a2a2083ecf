/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/feature/inhibit.h"

#include <fcntl.h>

#include "common/log.h"
#include "core/learn.h"
#include "daemon/bus/announce.h"
#include "daemon/queue.h"

/*
 * Programs whose work no switch may disturb. Each has one end of a pipe. uasd notices when the last copy of that end is closed,
 * for any reason. If uasd ends, the program notices it.
 */

/* More inhibitors at once are abuse. */
#define INHIBITORS_MAX 128U
#define WHO_MAX 64
#define WHY_MAX 160

static const struct inhibitor *inhibitor_of(const struct entry *e)
{
        for (const struct inhibitor *i = e->manager->inhibitors; i; i = i->next)
                if (!i->disk[0] || streq(i->disk, e->life.disk.facts.interface))
                        return i;
        return NULL;
}

static void tell(const struct inhibitor *i, char *ret, size_t size)
{
        ret[0] = '\0';
        if (i)
                (void) snprintf(ret, size, "%s%s%s", i->who, *i->why ? ": " : ".", i->why);
}

void inhibit_adopt(struct entry *e)
{
        const struct inhibitor *i = inhibitor_of(e);

        tell(i, e->life.disk.inhibited, sizeof(e->life.disk.inhibited));
        learn(&e->life, &(struct event){.type = EVENT_INHIBITED, .on = i != NULL}, 0);
}

static void apply(struct entry *e)
{
        const struct inhibitor *i = inhibitor_of(e);
        struct disk *d = &e->life.disk;
        char before[sizeof(d->inhibited)];

        memcpy(before, d->inhibited, sizeof(before));
        tell(i, d->inhibited, sizeof(d->inhibited));
        if (e->life.inhibited != (i != NULL))
                queue_event(e, &(struct event){.type = EVENT_INHIBITED, .on = i != NULL});
        else if (i && !streq(before, d->inhibited) && d->state == STATE_WAITING)
                bus_disk_changed(e);
}

/* Called when an inhibitor was added or removed. */
static void apply_all(struct manager *m)
{
        bus_inhibitors_changed(m);
        for (size_t i = 0; i < m->n_entries; i++)
                apply(m->entries[i]);
}

static void inhibitor_free(struct inhibitor *i)
{
        struct inhibitor **at = &i->manager->inhibitors;

        while (*at && *at != i)
                at = &(*at)->next;
        if (*at)
                *at = i->next;
        sd_event_source_disable_unref(i->end);
        (void) close_keep_errno(i->fd);
        free(i->who);
        free(i->why);
        free(i);
}

void inhibit_free(struct manager *m)
{
        while (m->inhibitors)
                inhibitor_free(m->inhibitors);
}

static int on_end(sd_event_source *s, int fd, uint32_t revents, void *data)
{
        struct inhibitor *i = data;
        struct manager *m = i->manager;
        char byte;

        if (!(revents & (EPOLLHUP | EPOLLERR))) { /* data from the program has no meaning */
                (void) !read(fd, &byte, 1);
                return 0;
        }
        log_info("%s no longer inhibits switches%s%s", i->who, i->disk[0] ? " of " : "", i->disk);
        inhibitor_free(i);
        apply_all(m);
        return 0;
}

static char *harmless(const char *s, size_t most)
{
        char text[WHY_MAX + 1];

        return strdup(make_harmless(s, text, most < sizeof(text) ? most : sizeof(text)));
}

int inhibit_add(struct manager *m, const char *disk, const char *who, const char *why, int *ret_fd)
{
        struct inhibitor *i, **last = &m->inhibitors;
        int ends[2], r = 0;
        unsigned n = 0;

        for (; *last; last = &(*last)->next)
                n++;
        if (n >= INHIBITORS_MAX)
                return -EBUSY;
        i = calloc(1, sizeof(*i));
        if (!i)
                return -ENOMEM;
        *i = (struct inhibitor){
                .manager = m, .fd = -1, .who = harmless(isempty(who) ? "somebody" : who, WHO_MAX), .why = harmless(why, WHY_MAX)};
        (void) copy_string(i->disk, sizeof(i->disk), disk);
        if (!i->who || !i->why)
                r = -ENOMEM;
        else if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
                r = -errno;
        else {
                i->fd = ends[0];
                r = sd_event_add_io(m->event, &i->end, i->fd, EPOLLIN, on_end, i);
                if (r < 0)
                        (void) close_keep_errno(ends[1]);
        }
        if (r < 0) {
                inhibitor_free(i);
                return r;
        }
        *last = i;
        log_info("%s inhibits switches%s%s%s%s", i->who, disk[0] ? " of " : "", disk, *i->why ? ": " : "", i->why);
        apply_all(m);
        *ret_fd = ends[1];
        return 0;
}
