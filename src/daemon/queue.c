/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>

#include "common/log.h"
#include "daemon/manager.h"

/*
 * One queue. A source, a child that ended and the manager itself post what is to be done; one deferred source
 * does it when the callback that posted has returned. No caller up the stack holds an entry then. So entries
 * are removed here and nowhere else.
 */
struct post {
        struct post *next;
        char interface[INTERFACE_NAME_MAX]; /* to be read again; else empty */
        call_fn call;                       /* or this is to be called */
        sd_bus_message *answer;             /* or this call is to be answered */
        struct entry *entry;                /* or this, with its event */
        feed_fn feed;
        struct event event;
};

static void post_free(struct post *p)
{
        if (p)
                sd_bus_message_unref(p->answer);
        free(p);
}

/* Before SIGTERM even: what a callback posts belongs to it. */
#define DRAIN_PRIORITY (SD_EVENT_PRIORITY_IMPORTANT - 20)

static struct post *take_first(struct manager *m)
{
        struct post *p = m->posts;

        if (p)
                m->posts = p->next;
        return p;
}

void manager_drain(struct manager *m)
{
        struct post *p;

        assert(!m->draining);
        m->draining = true;
        while ((p = take_first(m)) || m->missed) {
                if (!p) {
                        m->missed = false;
                        manager_look_at_all(m);
                } else if (p->interface[0])
                        manager_rescan(m, p->interface);
                else if (p->call)
                        p->call(m);
                else if (p->answer)
                        (void) sd_bus_reply_method_return(p->answer, NULL);
                else
                        p->feed(p->entry, &p->event);
                post_free(p);
        }
        m->draining = false;
}

void manager_rescan_now(struct manager *m, const char *interface)
{
        if (m->draining) /* it is called from the queue, where the interface was read just before */
                return;
        manager_post_rescan(m, interface);
        manager_drain(m);
}

static int on_drain(sd_event_source *s, void *data)
{
        manager_drain(data);
        return 0;
}

int queue_new(struct manager *m)
{
        int r = sd_event_add_defer(m->event, &m->drain, on_drain, m);

        if (r >= 0)
                r = sd_event_source_set_priority(m->drain, DRAIN_PRIORITY);
        return r < 0 ? r : sd_event_source_set_enabled(m->drain, SD_EVENT_OFF);
}

void queue_free(struct manager *m)
{
        struct post *p;

        while ((p = take_first(m)))
                post_free(p);
        m->drain = sd_event_source_disable_unref(m->drain);
}

void queue_forget(struct entry *e)
{
        struct post **at = &e->manager->posts;

        while (*at) {
                struct post *p = *at;

                if (p->entry != e) {
                        at = &p->next;
                        continue;
                }
                *at = p->next;
                post_free(p);
        }
}

static void wake(struct manager *m)
{
        if (!m->draining)
                (void) sd_event_source_set_enabled(m->drain, SD_EVENT_ONESHOT);
}

static struct post *add(struct manager *m)
{
        struct post **last = &m->posts, *p = calloc(1, sizeof(*p));

        if (p) {
                while (*last)
                        last = &(*last)->next;
                *last = p;
        }
        wake(m);
        return p;
}

/* A burst about one interface is read once. */
void manager_post_rescan(struct manager *m, const char *interface)
{
        struct post *p;

        for (p = m->posts; p; p = p->next)
                if (streq(p->interface, interface))
                        return;
        p = add(m);
        if (!p || !copy_string(p->interface, sizeof(p->interface), interface))
                m->missed = true;
}

void manager_post_call(struct manager *m, call_fn call)
{
        struct post *p = m->posts;

        while (p && p->next)
                p = p->next;
        if (p && p->call == call)
                return;
        p = add(m);
        if (p)
                p->call = call;
        else
                m->missed = true;
}

void manager_post(struct entry *e, feed_fn feed, const struct event *event)
{
        struct post *p = add(e->manager);

        if (!p) { /* no memory: it removes no entry, so it may as well be done now */
                feed(e, event);
                return;
        }
        p->entry = e;
        p->feed = feed;
        p->event = *event;
}

int manager_post_answer(struct manager *m, sd_bus_message *call)
{
        struct post *p = add(m);

        if (!p)
                return sd_bus_reply_method_return(call, NULL);
        p->answer = sd_bus_message_ref(call);
        return 1;
}
