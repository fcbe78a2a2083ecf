/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <time.h>
#include <unistd.h>

#include "client/source.h"
#include "client/watch.h"
#include "common/log.h"
#include "common/names.h"
#include "ctl/output.h"
#include "ctl/schema.h"
#include "ctl/verbs.h"
#include "term/program.h"
#include "term/progress.h"

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
        char id[INTERFACE_NAME_MAX];
        char text[_SHOWN_MAX][512];
};

static void snapshot(const struct view *v, struct snapshot *ret)
{
        const struct outcome *o = &v->disk.outcome;
        char names[sizeof(ret->text[0])], outcome[sizeof(o->text) + sizeof(o->step) + 32] = "";
        const char *const texts[_SHOWN_MAX] = {
                [SHOWN_STATE] = state_to_string(v->disk.state),
                [SHOWN_DRIVER] = view_driver(v),
                [SHOWN_TARGET] = view_target(v),
                [SHOWN_POLICY] = policy_to_string(v->disk.facts.policy),
                [SHOWN_VERDICT] = verdict_to_string(v->disk.facts.verdict),
                [SHOWN_DISKS] = view_block_names(v, names, sizeof(names)),
                [SHOWN_OUTCOME] = outcome,
                [SHOWN_REASON] = v->reason,
        };

        if (o->code >= 0)
                (void) snprintf(outcome, sizeof(outcome), "%i%s%s", o->code, o->step[0] ? " in step " : "", o->step);
        (void) copy_string(ret->id, sizeof(ret->id), v->disk.facts.interface);
        for (enum shown i = 0; i < _SHOWN_MAX; i++)
                (void) copy_string(ret->text[i], sizeof(ret->text[i]), isempty(texts[i]) ? "-" : texts[i]);
}

struct monitor {
        const char *only; /* this disk alone; NULL: all */
        bool json;
        struct snapshot *told; /* of each disk, what was printed last */
        size_t n_told;
        bool deaf; /* stdout takes nothing any more, for whatever reason: no fault of the daemon's */
        int error;
};

/* ---- telling it ---- */

static void tell_json(const struct view *v, const char *event, const bool changed[static _SHOWN_MAX])
{
        const char *names[_SHOWN_MAX + 1] = {};
        struct timespec now;
        size_t n = 0;

        for (enum shown i = 0; i < _SHOWN_MAX; i++)
                if (changed[i])
                        names[n++] = shown_names[i];
        (void) clock_gettime(CLOCK_REALTIME, &now);
        json_print_line(json_event(v, event, (uint64_t) now.tv_sec * USEC_PER_SEC + (uint64_t) now.tv_nsec / 1000, names));
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

/* before: what was printed last of it; NULL: nothing. */
static int tell(struct monitor *m, const struct view *v, const char *event, const struct snapshot *before,
                const struct snapshot *now)
{
        bool changed[_SHOWN_MAX] = {}, any = !before;
        int k = 0;

        for (enum shown i = 0; before && i < _SHOWN_MAX; i++) {
                changed[i] = !streq(before->text[i], now->text[i]);
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
                tell_json(v, event, changed);
        else
                tell_line(v, event, before, now, changed);
        if (k >= 0 && fflush(stdout) != 0)
                k = -errno;
        m->deaf = m->deaf || ferror(stdout);
        return k;
}

static struct snapshot *find_told(struct monitor *m, const char *id)
{
        for (size_t i = 0; i < m->n_told; i++)
                if (streq(m->told[i].id, id))
                        return &m->told[i];
        return NULL;
}

/* Every signal is printed as it comes, by what it carries, so that no state is missed. */
static void on_disk(const struct view *v, enum disk_event e, void *data)
{
        struct monitor *m = data;
        struct snapshot *before = find_told(m, v->disk.facts.interface), now;
        int k;

        if (m->error < 0 || (m->only && !streq(v->disk.facts.interface, m->only)))
                return;
        snapshot(v, &now);
        if (e == DISK_REMOVED) {
                k = tell(m, v, "removed", NULL, &now);
                if (before)
                        *before = m->told[--m->n_told];
        } else if (before) {
                k = tell(m, v, "changed", before, &now);
                *before = now;
        } else {
                k = tell(m, v, e == DISK_PRESENT ? "present" : "added", NULL, &now);
                m->told = need(reallocarray(m->told, m->n_told + 1, sizeof(*m->told)));
                m->told[m->n_told++] = now;
        }
        m->error = k < 0 ? k : m->error;
}

static int follow(struct monitor *m, struct daemon_watch *w)
{
        int k = 0;

        while (k >= 0 && m->error >= 0) {
                k = daemon_watch_next(w, UINT64_MAX);
                if (w->gone)
                        log_info("uasd has ended; waiting for it to come back.");
                w->gone = w->changed = false;
        }
        return k < 0 ? k : m->error;
}

int verb_monitor(struct ctl *c, char **args)
{
        struct monitor m = {.json = c->options->json, .only = c->v ? c->v->disk.facts.interface : NULL};
        struct daemon_watch watch = DAEMON_WATCH_NULL;
        int r;

        watch.on_disk = on_disk;
        watch.data = &m;
        watch.disk = m.only;
        watch.on_step = progress_show;
        watch.hangup_fd = STDOUT_FILENO; /* tells by itself that its reader has gone */
        r = daemon_watch_open(&watch, &c->remote);
        if (r >= 0)
                r = follow(&m, &watch);
        daemon_watch_close(&watch);
        free(m.told);
        /* What cannot be written is reported at the end; a reader that has gone is no failure. */
        return r == -EPIPE && !m.deaf ? UASD_EXIT_OK : m.deaf ? UASD_EXIT_FAILED : source_lost(r);
}
