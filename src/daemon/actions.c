/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/actions.h"

#include <assert.h>

#include "common/log.h"
#include "daemon/feature/lease.h"
#include "daemon/feature/report.h"
#include "daemon/feature/requests.h"
#include "daemon/feature/switches.h"
#include "daemon/feature/take-mounts.h"
#include "daemon/feature/trouble.h"
#include "daemon/feature/users.h"
#include "sys/io/clock.h"
#include "sys/state/attachment.h"
#include "sys/udev/udevdb.h"
#include "sys/users/users.h"

static int entry_on_timer(sd_event_source *s, usec_t usec, void *data)
{
        struct entry *e = data;

        /* In a pause uasd does not hear of a use that has begun during the quiet time. */
        if (e->life.watched && use_watch_pauses(&e->manager->uses))
                queue_entry(e, POST_LOOK);
        queue_event(e, &(struct event){.type = EVENT_TIMER});
        return 0;
}

static void entry_set_timer(struct entry *e, usec_t usec)
{
        int r;

        e->timer = sd_event_source_disable_unref(e->timer);
        if (usec == USEC_INFINITY)
                return;
        r = sd_event_add_time(e->manager->event, &e->timer, CLOCK_BOOTTIME, usec,
                              10 * USEC_PER_MSEC, entry_on_timer, e);
        if (r < 0)
                log_warning("%s: no timer: %s", e->life.disk.facts.interface, strerror(-r));
}

static int entry_end_hold(struct entry *e)
{
        const struct roots *roots = &e->manager->roots;
        const struct disk *d = &e->life.disk;
        int r = hold_release(roots, &d->facts);

        if (r < 0)
                return r;
        return trigger_add(roots, d->luns, d->n_luns);
}

static void entry_release(struct entry *e)
{
        int r = entry_end_hold(e);

        if (r < 0)
                log_warning("%s: release: %s", e->life.disk.facts.interface, strerror(-r));
        report_release(e);
}

static void action_perform(struct entry *e, const struct action *a, enum state before)
{
        switch (a->type) {
        case ACTION_SWITCH:
                if (!lease_releases(e, a))
                        switch_begin(e, a);
                break;
        case ACTION_RELEASE:
                entry_release(e);
                break;
        case ACTION_WATCH:
                use_watch_add(e);
                break;
        case ACTION_UNWATCH:
                use_watch_remove(e);
                break;
        case ACTION_LOOK:
                queue_entry(e, POST_LOOK);
                break;
        case ACTION_TIMER:
                entry_set_timer(e, a->deadline);
                break;
        case ACTION_PASSED:
                trouble_trial_over(e);
                break;
        case ACTION_REPORT:
                if (e->life.disk.state ==
                    STATE_WAITING) /* the journal names the users even if no client asks */
                        users_cache_refresh(e);
                report_state(e, before);
                bus_disk_changed(e);
                break;
        case _ACTION_MAX:
                break;
        }
}

void entry_step(struct entry *e, const struct event *event)
{
        struct manager *m = e->manager;
        enum state before = e->life.disk.state;
        bool cancelled = e->life.cancelled, in_use = e->life.use.busy,
             foreign = event->type == EVENT_DONE && event->foreign;
        struct actions actions;
        usec_t now;

        assert(m->queue.draining);
        if (foreign) {
                if (!e->life.attempt.running || e->run) /* uasd has already seen it */
                        return;
                trouble_adopt(e);
        }
        now = now_and_asleep(&m->env.asleep_usec);
        machine_step(&e->life, &m->env, event, now, &actions);
        if (e->life.cancelled != cancelled)
                request_keep_cancelled(e);
        /*
         * uasd-switch first: it starts while uasd reports the switch to the journal and on the bus.
         * Its end comes as an event, so it is reported later in any case.
         */
        for (size_t i = 0; i < actions.n; i++)
                if (actions.list[i].type == ACTION_SWITCH)
                        action_perform(e, &actions.list[i], before);
        for (size_t i = 0; i < actions.n; i++)
                if (actions.list[i].type != ACTION_SWITCH)
                        action_perform(e, &actions.list[i], before);
        lease_follow(e);
        take_follow(e);
        request_settle(e);
        if (event->type == EVENT_USERS && e->life.use.busy != in_use)
                bus_disk_changed(e);
        if (event->type == EVENT_DONE)
                switch_run_reported(e);
        if (event->type == EVENT_DONE && !foreign)
                trouble_switched(e);
}

void entry_look(struct entry *e)
{
        const struct disk *d = &e->life.disk;
        int r;

        if (e->life.use.hidden) {
                use_probe_start(e);
                return;
        }
        r = users_any(&e->manager->roots, d->luns, d->n_luns);
        if (r < 0)
                log_debug("%s: cannot see who uses it: %s", d->facts.interface, strerror(-r));
        /* Unknown counts as in use. */
        entry_step(e, &(struct event){.type = EVENT_USERS, .in_use = r != 0, .told = r == 1});
}
