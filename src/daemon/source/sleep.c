/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/source/sources.h"

#include <fcntl.h>

#include "common/log.h"
#include "daemon/manager.h"

/*
 * logind announces that the machine is going to sleep. It waits for programs that have a delay
 * inhibitor, 5 s by default. uasd has one all the time, so that it is there before a switch begins.
 * When the machine is about to sleep, no switch begins any more, and the record of each trial ends.
 * The inhibitor is released when the last switch has ended and all is on record. uasd takes another
 * one when the machine is awake again.
 */

#define LOGIND "org.freedesktop.login1"
#define LOGIND_PATH "/org/freedesktop/login1"
#define LOGIND_MANAGER LOGIND ".Manager"
#define ALREADY_BEGUN LOGIND ".OperationInProgress"

/* Runs after every other event: any of them may be the end of a switch or of a record. */
static int sleep_on_settle(sd_event_source *source, void *data)
{
        struct sleep *s = data;
        const struct manager *m = s->manager;

        FOREACH_ENTRY (e, m)
                if (e->life.attempt.running)
                        return 0;
        if (m->records)
                return 0;
        s->fd = close_keep_errno(s->fd);
        s->settle = sd_event_source_disable_unref(s->settle);
        return 0;
}

static void sleep_begins(struct sleep *s)
{
        struct manager *m = s->manager;

        if (m->env.sleeping)
                return;
        m->env.sleeping = true;
        log_debug("the machine is going to sleep: no switch begins");
        queue_post(m, POST_ENVIRONMENT);
        if (s->fd >= 0 && sd_event_add_post(m->event, &s->settle, sleep_on_settle, s) < 0)
                s->fd = close_keep_errno(s->fd);
}

static void sleep_ends(struct sleep *s)
{
        struct manager *m = s->manager;

        s->settle = sd_event_source_disable_unref(s->settle);
        if (!m->env.sleeping)
                return;
        m->env.sleeping = false;
        log_debug("the machine is awake");
        queue_post(m, POST_ENVIRONMENT);
}

static int sleep_on_inhibitor(sd_bus_message *message, void *data, sd_bus_error *error)
{
        struct sleep *s = data;
        const sd_bus_error *e = sd_bus_message_get_error(message);
        int fd;

        s->asking = sd_bus_slot_unref(s->asking);
        /* uasd connected to the bus while the machine was already about to sleep */
        if (e && streq(e->name, ALREADY_BEGUN)) {
                sleep_begins(s);
                return 0;
        }
        if (e)
                log_debug("no inhibitor from logind: %s", e->message);
        else if (sd_bus_message_read(message, "h", &fd) >= 0) {
                (void) close_keep_errno(s->fd);
                s->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        }
        sleep_ends(s);
        return 0;
}

static int sleep_ask_logind(struct sleep *s)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        sd_bus *bus = s->manager->bus.system;
        int r;

        r = sd_bus_message_new_method_call(bus, &call, LOGIND, LOGIND_PATH, LOGIND_MANAGER,
                                           "Inhibit");
        if (r < 0)
                return r;
        r = sd_bus_message_set_auto_start(call, false);
        if (r < 0)
                return r;
        r = sd_bus_message_append(call, "ssss", "sleep", "uasd",
                                  "A USB disk may be on its way to another driver", "delay");
        if (r < 0)
                return r;
        return sd_bus_call_async(bus, &s->asking, call, sleep_on_inhibitor, s, 0);
}

/*
 * Asks logind, unless it would have to be started. Its answer also says whether the machine is
 * about to sleep: then logind gives no inhibitor. Switches begin again with the answer.
 */
static void sleep_inhibit(struct sleep *s)
{
        int r;

        s->asking = sd_bus_slot_unref(s->asking);
        r = sleep_ask_logind(s);
        if (r < 0) {
                log_warning("cannot ask logind for an inhibitor: %s", strerror(-r));
                sleep_ends(s);
        }
}

static int sleep_on_prepare(sd_bus_message *message, void *data, sd_bus_error *error)
{
        int begins;

        if (sd_bus_message_read(message, "b", &begins) < 0)
                return 0;
        if (begins)
                sleep_begins(data);
        else
                sleep_inhibit(data);
        return 0;
}

/* logind has started or ended. Without logind the machine is not put to sleep. */
static int sleep_on_owner(sd_bus_message *message, void *data, sd_bus_error *error)
{
        sleep_inhibit(data);
        return 0;
}

int sleep_watch(struct manager *m)
{
        struct sleep *s = &m->sleep;
        sd_bus *bus = m->bus.system;
        int r;

        s->manager = m;
        s->asking = sd_bus_slot_unref(s->asking);
        r = sd_bus_match_signal_async(bus, NULL, LOGIND, LOGIND_PATH, LOGIND_MANAGER,
                                      "PrepareForSleep", sleep_on_prepare, NULL, s);
        if (r < 0)
                return r;
        r = sd_bus_add_match_async(
                bus, NULL,
                "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',"
                "member='NameOwnerChanged',arg0='" LOGIND "'",
                sleep_on_owner, NULL, s);
        if (r < 0)
                return r;
        sleep_inhibit(s);
        return 0;
}
