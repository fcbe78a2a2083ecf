/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include "client/source.h"
#include "client/watch.h"
#include "common/log.h"
#include "common/names.h"
#include "ctl/json-disk.h"
#include "ctl/output.h"
#include "ctl/verbs.h"
#include "sys/io/clock.h"
#include "term/progress.h"

/* What is known; every signal is told as it comes, by what it carries, so that no state is missed. */
struct monitor {
        struct remote remote;
        struct views views;
        const char *only; /* this disk alone; NULL: all */
        bool json;
        bool reread; /* the daemon is back */
        bool deaf;   /* stdout takes nothing any more, for whatever reason: no fault of the daemon's */
        bool unread; /* ... since whoever read it has gone */
        int error;
};

/* ---- what differs ---- */

enum shown {
        SHOWN_STATE,
        SHOWN_DRIVER,
        SHOWN_TARGET,
        SHOWN_POLICY,
        SHOWN_VERDICT,
        SHOWN_DISKS,
        SHOWN_OUTCOME,
        SHOWN_REASON,
        _SHOWN_MAX,
};

/* As the members of JSON are called. */
static const char *const shown_names[_SHOWN_MAX] = {
        [SHOWN_STATE] = "state",     [SHOWN_DRIVER] = "driver", [SHOWN_TARGET] = "target",   [SHOWN_POLICY] = "policy",
        [SHOWN_VERDICT] = "verdict", [SHOWN_DISKS] = "disks",   [SHOWN_OUTCOME] = "outcome", [SHOWN_REASON] = "reason",
};

struct snapshot {
        char text[_SHOWN_MAX][512];
};

static void snapshot(const struct view *v, struct snapshot *ret)
{
        const struct outcome *o = &v->disk.outcome;
        char names[sizeof(ret->text[0])], outcome[sizeof(o->text) + sizeof(o->step) + 32] = "";
        const char *const texts[_SHOWN_MAX] = {
                [SHOWN_STATE] = state_to_string(v->disk.state),
                [SHOWN_DRIVER] = view_driver(v),
                [SHOWN_TARGET] = v->disk.decision.target == DRIVER_NONE ? NULL : driver_to_string(v->disk.decision.target),
                [SHOWN_POLICY] = policy_to_string(v->disk.facts.policy),
                [SHOWN_VERDICT] = verdict_to_string(v->disk.facts.verdict),
                [SHOWN_DISKS] = view_block_names(v, names, sizeof(names)),
                [SHOWN_OUTCOME] = outcome,
                [SHOWN_REASON] = v->reason,
        };

        if (o->code >= 0)
                (void) snprintf(outcome, sizeof(outcome), "%i%s%s", o->code, o->step[0] ? " in step " : "", o->step);
        for (enum shown i = 0; i < _SHOWN_MAX; i++)
                (void) copy_string(ret->text[i], sizeof(ret->text[i]), isempty(texts[i]) ? "-" : texts[i]);
}

/* ---- telling it ---- */

static int tell_json(const struct view *v, const char *event, const bool changed[static _SHOWN_MAX])
{
        const char *names[_SHOWN_MAX + 1] = {};
        struct timespec now;
        size_t n = 0;

        for (enum shown i = 0; i < _SHOWN_MAX; i++)
                if (changed[i])
                        names[n++] = shown_names[i];
        (void) clock_gettime(CLOCK_REALTIME, &now);
        return json_print_line(json_event(
                v, event, (uint64_t) now.tv_sec * USEC_PER_SEC + (uint64_t) now.tv_nsec / 1000, names));
}

/* "15:04:05 2-1:1.0 (sda) changed: state waiting -> switching. It is ..." */
static void tell_line(const struct view *v, const char *event, const struct snapshot *before, const struct snapshot *now,
                      const bool changed[static _SHOWN_MAX])
{
        char label[VIEW_LABEL_MAX], clock[16] = "";
        time_t seconds = time(NULL);
        const char *sep = ": ";
        struct tm tm;

        if (localtime_r(&seconds, &tm))
                (void) strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
        printf("%s %s %s", clock, view_label(v, label), event);
        for (enum shown i = 0; i < SHOWN_REASON; i++) {
                bool state = i == SHOWN_STATE;

                if (!(before ? changed[i] : state || i == SHOWN_DRIVER))
                        continue;
                printf("%s%s ", sep, shown_names[i]);
                if (before && !streq(before->text[i], now->text[i]))
                        printf("%s -> ", before->text[i]);
                printf("%s%s%s", state ? colour(sgr_of_state(v->disk.state)) : "", now->text[i], state ? colour_end() : "");
                sep = ", ";
        }
        output_tail(before && !changed[SHOWN_REASON] ? NULL : v->reason);
}

static int tell(struct monitor *m, const struct view *v, const char *event, const struct snapshot *before)
{
        bool changed[_SHOWN_MAX] = {}, any = !before;
        struct snapshot now;
        int k = 0;

        if (m->only && !streq(v->disk.facts.interface, m->only))
                return 0;
        snapshot(v, &now);
        for (enum shown i = 0; before && i < _SHOWN_MAX; i++) {
                changed[i] = !streq(before->text[i], now.text[i]);
                any = any || changed[i];
        }
        /* A switch has ended, perhaps as the one before. */
        if (before && changed[SHOWN_STATE] && streq(before->text[SHOWN_STATE], state_to_string(STATE_SWITCHING)) &&
            v->disk.outcome.code >= 0)
                changed[SHOWN_OUTCOME] = true;
        if (!any)
                return 0;
        progress_clear();
        if (m->json)
                k = tell_json(v, event, changed);
        else
                tell_line(v, event, before, &now, changed);
        if (k >= 0 && fflush(stdout) != 0)
                k = -errno;
        m->deaf = m->deaf || ferror(stdout);
        return k;
}

/* ---- what comes ---- */

static int gone(struct monitor *m, const char *interface)
{
        struct view *v = (struct view *) views_find(&m->views, interface);
        int k;

        if (!v)
                return 0;
        k = tell(m, v, "removed", NULL);
        view_done(v);
        *v = m->views.list[--m->views.n];
        return k;
}

/* Takes what is in now. */
static int there(struct monitor *m, struct view *now, const char *event)
{
        struct view *v = (struct view *) views_find(&m->views, now->disk.facts.interface);
        struct snapshot before;
        int k;

        if (!v) {
                k = tell(m, now, event, NULL);
                return k < 0 ? k : views_add(&m->views, now);
        }
        snapshot(v, &before);
        view_done(v);
        *v = *now;
        *now = (struct view){};
        return tell(m, v, "changed", &before);
}

static int read_all(struct monitor *m, const char *event)
{
        _cleanup_(views_done) struct views now = {};
        int k = remote_read(&m->remote, ORDER_USEC, &now);

        for (size_t i = m->views.n; k >= 0 && i-- > 0;)
                if (!views_find(&now, m->views.list[i].disk.facts.interface))
                        k = gone(m, m->views.list[i].disk.facts.interface);
        for (size_t i = 0; k >= 0 && i < now.n; i++)
                k = there(m, &now.list[i], event);
        return k;
}

static void show_step(sd_bus_message *m, const char *disk)
{
        struct job_step step;

        if (job_step_read(m, disk, &step))
                progress_show(step.disk, step.step);
}

/* What cannot be read, or is about a disk that is not known, is no end: all are read again. */
static int take_changes(struct monitor *m, sd_bus_message *message)
{
        _cleanup_free_ char *id = NULL;
        struct snapshot before;
        const char *interface;
        struct view *v;

        if (sd_bus_message_read(message, "s", &interface) < 0)
                return 0;
        if (streq(interface, UASD_BUS_JOB))
                show_step(message, m->only);
        if (!streq(interface, UASD_BUS_DISK))
                return 0;
        if (sd_bus_path_decode(sd_bus_message_get_path(message), UASD_BUS_PATH "/disk", &id) <= 0)
                return 0;
        v = (struct view *) views_find(&m->views, id);
        if (!v)
                return read_all(m, "added");
        snapshot(v, &before);
        return remote_parse_changed(message, v) < 0 ? read_all(m, "added") : tell(m, v, "changed", &before);
}

static int on_changed(sd_bus_message *message, void *data, sd_bus_error *e)
{
        struct monitor *m = data;
        int k = take_changes(m, message);

        m->error = k < 0 ? k : m->error;
        return 0;
}

static int on_objects(sd_bus_message *message, void *data, sd_bus_error *e)
{
        struct monitor *m = data;
        _cleanup_free_ char *id = NULL;
        const char *path;
        int k = 0;

        if (sd_bus_message_is_signal(message, NULL, "InterfacesAdded")) {
                _cleanup_(view_done) struct view v = {};

                k = remote_parse_added(message, &v);
                k = k < 0 ? read_all(m, "added") : k > 0 ? there(m, &v, "added") : 0;
        } else if (sd_bus_message_is_signal(message, NULL, "InterfacesRemoved") &&
                   sd_bus_message_read(message, "o", &path) >= 0 &&
                   sd_bus_path_decode(path, UASD_BUS_PATH "/disk", &id) > 0)
                k = gone(m, id);
        m->error = k < 0 ? k : m->error;
        return 0;
}

static int on_owner(sd_bus_message *message, void *data, sd_bus_error *e)
{
        struct monitor *m = data;
        const char *name, *from, *to;

        if (sd_bus_message_read(message, "sss", &name, &from, &to) < 0 || !streq(name, UASD_BUS_NAME))
                return 0;
        if (isempty(to))
                log_info("uasd has ended; waiting for it to come back.");
        m->reread = !isempty(to);
        return 0;
}

static int listen_for(struct monitor *m)
{
        /* Peer to peer there is no bus to say who sent it. */
        const char *sender = m->remote.peer ? NULL : UASD_BUS_NAME;
        sd_bus *bus = m->remote.bus;
        int k;

        k = sd_bus_match_signal(bus, NULL, sender, NULL, "org.freedesktop.DBus.Properties", "PropertiesChanged", on_changed, m);
        if (k >= 0)
                k = sd_bus_match_signal(bus, NULL, sender, UASD_BUS_PATH, "org.freedesktop.DBus.ObjectManager", NULL,
                                        on_objects, m);
        if (k >= 0 && !m->remote.peer)
                k = sd_bus_match_signal(bus, NULL, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus",
                                        "NameOwnerChanged", on_owner, m);
        return k;
}

static int wait_for_bus(struct monitor *m)
{
        struct pollfd fds[] = {
                {.fd = sd_bus_get_fd(m->remote.bus), .events = (short) sd_bus_get_events(m->remote.bus)},
                {.fd = STDOUT_FILENO}, /* tells by itself that its reader has gone */
        };
        uint64_t until = UINT64_MAX, now = now_monotonic();

        (void) sd_bus_get_timeout(m->remote.bus, &until);
        if (poll(fds, ELEMENTSOF(fds), until == UINT64_MAX ? -1 : until <= now ? 0 : (int) ((until - now) / USEC_PER_MSEC + 1)) < 0)
                return -errno;
        m->unread = fds[1].revents & (POLLERR | POLLHUP | POLLNVAL);
        return m->unread ? -EPIPE : 0;
}

static int follow(struct monitor *m)
{
        int k;

        while (m->error >= 0) {
                k = sd_bus_process(m->remote.bus, NULL);
                if (k == 0 && m->reread) {
                        m->reread = false;
                        k = read_all(m, "added");
                } else if (k == 0)
                        k = wait_for_bus(m);
                if (k < 0 && k != -EINTR)
                        return k;
        }
        return m->error;
}

static int run(struct monitor *m)
{
        int k = listen_for(m);

        /* Only then: nothing falls in between. */
        if (k >= 0)
                k = read_all(m, "present");
        return k < 0 ? k : follow(m);
}

int verb_monitor(const struct ctl *c, char **args)
{
        struct monitor m = { .json = c->options->json };
        _cleanup_(views_done) struct views first = {};
        const struct view *one = NULL;
        int code;

        code = source_connect(&c->client, &m.remote, &first);
        if (code == UASD_EXIT_OK && args[0])
                code = source_select(&c->client, &first, args[0], &one);
        if (one)
                m.only = one->disk.facts.interface;
        if (code == UASD_EXIT_OK) {
                int k = run(&m);

                /* What cannot be written is told at the end; for nobody there is nothing to tell. */
                code = m.unread ? UASD_EXIT_OK : m.deaf ? UASD_EXIT_FAILED : source_lost(k);
        }
        views_done(&m.views);
        remote_close(&m.remote);
        return code;
}
