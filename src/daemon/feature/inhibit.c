/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/feature/inhibit.h"

#include "common/log.h"
#include "core/learn.h"
#include "core/machine.h"
#include "daemon/loop.h"

/*
 * Programs whose work no switch may disturb. Each has one end of a pipe. uasd notices when the last
 * copy of that end is closed, for any reason. If uasd ends, the program notices it.
 */

/* More inhibitors at once are abuse. */
#define INHIBITORS_MAX 128U

static const struct inhibitor *inhibitor_of(const struct entry *e)
{
        const struct inhibitor *i;

        TAILQ_FOREACH (i, &e->manager->inhibitors, link)
                if (!i->disk[0] || streq(i->disk, e->life.disk.facts.interface))
                        return i;
        return NULL;
}

/* Returns the end of a sentence; NULL: the disk has no inhibitor. Other programs may give the
 * reason as a sentence. */
static char *inhibitor_text(const struct entry *e)
{
        const struct inhibitor *i = inhibitor_of(e);
        size_t length;
        char *text;
        int n;

        if (!i)
                return NULL;
        length = strlen(i->why);
        if (length == 0)
                n = asprintf(&text, "%s.", i->who);
        else if (strchr(".!?", i->why[length - 1]))
                n = asprintf(&text, "%s: %s", i->who, i->why);
        else
                n = asprintf(&text, "%s: %s.", i->who, i->why);
        if (n < 0)
                return NULL;
        return text;
}

void inhibit_adopt(struct entry *e)
{
        e->life.disk.inhibited = inhibitor_text(e);
        learn(&e->life, &(struct event){.type = EVENT_INHIBITED, .on = inhibitor_of(e)}, 0);
}

static void inhibit_apply(struct entry *e)
{
        struct disk *d = &e->life.disk;
        _cleanup_free_ char *before = d->inhibited;
        bool on = inhibitor_of(e);

        d->inhibited = inhibitor_text(e);
        if (e->life.inhibited != on)
                queue_event(e, &(struct event){.type = EVENT_INHIBITED, .on = on});
        else if (before && d->inhibited && !streq(before, d->inhibited) &&
                 d->state == STATE_WAITING)
                bus_disk_changed(e);
}

/* Called when an inhibitor was added or removed. */
static void inhibit_apply_all(struct manager *m)
{
        bus_inhibitors_changed(m);
        FOREACH_ENTRY (e, m)
                inhibit_apply(e);
}

static void inhibitor_free(struct inhibitor *i)
{
        TAILQ_REMOVE(&i->manager->inhibitors, i, link);
        sd_event_source_disable_unref(i->end);
        free(i);
}

static int inhibitor_on_end(sd_event_source *s, int fd, uint32_t revents, void *data)
{
        struct inhibitor *i = data;
        struct manager *m = i->manager;

        log_info("%s no longer inhibits switches%s%s", i->who, i->disk[0] ? " of " : "", i->disk);
        inhibitor_free(i);
        inhibit_apply_all(m);
        return 0;
}

int inhibit_add(struct manager *m, const char *disk, const char *who, const char *why, int *ret_fd)
{
        struct inhibitor *i;
        unsigned n = 0;
        int r;

        TAILQ_FOREACH (i, &m->inhibitors, link)
                n++;
        if (n >= INHIBITORS_MAX)
                return -EBUSY;
        i = calloc(1, sizeof(*i));
        if (!i)
                return -ENOMEM;
        i->manager = m;
        TAILQ_INSERT_TAIL(&m->inhibitors, i, link);
        (void) make_harmless(isempty(who) ? "somebody" : who, i->who, sizeof(i->who));
        (void) make_harmless(why, i->why, sizeof(i->why));
        (void) copy_string(i->disk, sizeof(i->disk), disk);
        r = pipe_until_closed(m->event, inhibitor_on_end, i, &i->end, ret_fd);
        if (r < 0) {
                inhibitor_free(i);
                return r;
        }
        log_info("%s inhibits switches%s%s%s%s", i->who, disk[0] ? " of " : "", disk,
                 *i->why ? ": " : "", i->why);
        inhibit_apply_all(m);
        return 0;
}
