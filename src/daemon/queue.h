/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/queue.h>
#include <systemd/sd-event.h>

#include "core/machine.h"

struct entry;
struct manager;

/*
 * Posts are performed in order, as soon as the callback that made them has returned. No caller up
 * the stack uses an entry then, so entries are freed only there. A post that is in the queue
 * already is not added again, except for events.
 */
enum post_type {
        POST_RESCAN, /* read the interface again: new, changed or gone */
        POST_RESCAN_ALL,
        POST_LOST,   /* uevents were lost: the same, and search for users of the disks that wait */
        POST_BOOTED, /* the boot is over */
        POST_ENVIRONMENT, /* each machine has to check manager.env again */
        POST_USES,  /* the use of any disk may have ended: a device stacked on others has changed or
                       gone */
        POST_LOOK,  /* EVENT_USERS, with what is found then */
        POST_MARK,  /* the hold mark or the switch record of the disk has changed */
        POST_AGAIN, /* policy or history of the disk were set: read it again with EVENT_AGAIN */
        POST_REQUEST,  /* pass entry.request to the machine */
        POST_EVENT,    /* an event of the disk's machine */
        POST_RELEASED, /* a user has ended the hold of the disk */
        POST_CALL,     /* call(m, data), after the posts before it */
};

typedef void (*queue_call_fn)(struct manager *m, void *data);

struct post {
        TAILQ_ENTRY(post) link;
        enum post_type type;
        char interface[INTERFACE_NAME_MAX];
        struct entry *entry; /* NULL: not about an entry */
        struct event event;
        queue_call_fn call;
        void *data; /* of the call */
};

struct queue {
        void (*carry_out)(struct manager *m, const struct post *p);
        TAILQ_HEAD(post_list, post) posts;
        sd_event_source *drain;
        bool draining;
};

int queue_new(struct manager *m, void (*carry_out)(struct manager *m, const struct post *p));
/* Drops the posts of an entry that is about to be freed. */
void queue_forget(struct entry *e);
/* Performs all posts. The caller must not use an entry. */
void queue_drain(struct manager *m);

/* POST_RESCAN_ALL to POST_USES. */
void queue_post(struct manager *m, enum post_type type);
void queue_rescan(struct manager *m, const char *interface);
/* POST_LOOK to POST_RELEASED. */
void queue_entry(struct entry *e, enum post_type type);
void queue_event(struct entry *e, const struct event *event);
void queue_call(struct manager *m, queue_call_fn call, void *data);

/* NOLINTBEGIN(bugprone-macro-parentheses): `e` is declared here */
#define FOREACH_ENTRY(e, m)                                                                        \
        for (struct entry *e = TAILQ_FIRST(&(m)->entries); e; e = TAILQ_NEXT(e, link))
/* NOLINTEND(bugprone-macro-parentheses) */

/* Finds a disk by its interface. */
struct entry *disk_find(struct manager *m, const char *interface);
/* Returns true if another disk has the same identifier: only their ports distinguish them. */
bool disk_has_twin(const struct entry *e);
