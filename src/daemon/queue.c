/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/queue.h"

#include <assert.h>

#include "common/log.h"
#include "daemon/manager.h"

/* Before SIGTERM: the posts of a callback belong to the callback. */
#define DRAIN_PRIORITY (SD_EVENT_PRIORITY_IMPORTANT - 20)

void queue_drain(struct manager *m)
{
        struct queue *q = &m->queue;
        struct post *p;

        assert(!q->draining);
        q->draining = true;
        while ((p = TAILQ_FIRST(&q->posts))) {
                TAILQ_REMOVE(&q->posts, p, link);
                q->carry_out(m, p);
                free(p);
        }
        q->draining = false;
}

static int queue_on_drain(sd_event_source *s, void *data)
{
        queue_drain(data);
        return 0;
}

int queue_new(struct manager *m, void (*carry_out)(struct manager *m, const struct post *p))
{
        struct queue *q = &m->queue;
        int r;

        q->carry_out = carry_out;
        TAILQ_INIT(&q->posts);
        r = sd_event_add_defer(m->event, &q->drain, queue_on_drain, m);
        if (r < 0)
                return r;
        r = sd_event_source_set_priority(q->drain, DRAIN_PRIORITY);
        if (r < 0)
                return r;
        return sd_event_source_set_enabled(q->drain, SD_EVENT_OFF);
}

void queue_forget(struct entry *e)
{
        struct queue *q = &e->manager->queue;

        for (struct post *p = TAILQ_FIRST(&q->posts), *next; p; p = next) {
                next = TAILQ_NEXT(p, link);
                if (p->entry != e)
                        continue;
                TAILQ_REMOVE(&q->posts, p, link);
                free(p);
        }
}

static bool post_same(const struct post *a, const struct post *b)
{
        return a->type == b->type && a->type != POST_EVENT && a->entry == b->entry &&
               a->call == b->call && a->data == b->data && streq(a->interface, b->interface);
}

static void queue_add(struct manager *m, const struct post *template)
{
        struct queue *q = &m->queue;
        struct post *p;

        TAILQ_FOREACH (p, &q->posts, link)
                if (post_same(p, template))
                        return;
        p = malloc(sizeof(*p));
        if (!p) { /* PID 1 starts uasd again, which then reads everything again */
                log_error("no memory for the queue: uasd ends");
                (void) sd_event_exit(m->event, -ENOMEM);
                return;
        }
        *p = *template;
        TAILQ_INSERT_TAIL(&q->posts, p, link);
        if (!q->draining)
                (void) sd_event_source_set_enabled(q->drain, SD_EVENT_ONESHOT);
}

void queue_post(struct manager *m, enum post_type type)
{
        queue_add(m, &(struct post){.type = type});
}

void queue_rescan(struct manager *m, const char *interface)
{
        struct post p = {.type = POST_RESCAN};

        if (copy_string(p.interface, sizeof(p.interface), interface))
                queue_add(m, &p);
}

void queue_entry(struct entry *e, enum post_type type)
{
        queue_add(e->manager, &(struct post){.type = type, .entry = e});
}

void queue_event(struct entry *e, const struct event *event)
{
        queue_add(e->manager, &(struct post){.type = POST_EVENT, .entry = e, .event = *event});
}

void queue_call(struct manager *m, queue_call_fn call, void *data)
{
        queue_add(m, &(struct post){.type = POST_CALL, .call = call, .data = data});
}

/* ---- the disks that posts are about ---- */

struct entry *disk_find(struct manager *m, const char *interface)
{
        FOREACH_ENTRY (e, m)
                if (streq(e->life.disk.facts.interface, interface))
                        return e;
        return NULL;
}

bool disk_has_twin(const struct entry *e)
{
        FOREACH_ENTRY (other, e->manager)
                if (facts_twins(&e->life.disk.facts, &other->life.disk.facts))
                        return true;
        return false;
}
