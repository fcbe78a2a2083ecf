/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/context.h"
#include "ctl/options.h"

#include <time.h>

#include "client/watch.h"
#include "ctl/output.h"
#include "ctl/schema.h"
#include "ctl/verbs.h"

/* ---- differences ---- */

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

/* The names of the JSON members, and the columns of `list` with the same content. */
static const struct {
        const char *name;
        enum column column;
        const char *label; /* in text; NULL: the name */
} shown[_SHOWN_MAX] = {
        [SHOWN_STATE] = {N_("state"), COLUMN_STATE_ID},
        [SHOWN_DRIVER] = {N_("driver"), COLUMN_DRIVER},
        [SHOWN_TARGET] = {N_("target"), COLUMN_TARGET},
        [SHOWN_POLICY] = {N_("policy"), COLUMN_POLICY},
        [SHOWN_VERDICT] = {N_("verdict"), COLUMN_VERDICT},
        [SHOWN_DISKS] = {N_("disks"), COLUMN_DISK},
        [SHOWN_OUTCOME] = {"outcome", _COLUMN_MAX, N_("switch")},
        [SHOWN_REASON] = {"reason", COLUMN_REASON},
};

struct snapshot {
        char id[INTERFACE_NAME_MAX];
        char text[_SHOWN_MAX][512];
};

static const char *outcome_word(int code)
{
        switch (code) {
        case UASD_EXIT_OK:
                return _("done");
        case UASD_EXIT_ROLLED_BACK:
                return _("rolled back");
        default:
                return _("failed");
        }
}

static void snapshot_take(const struct view *v, struct snapshot *ret)
{
        const struct outcome *o = &v->disk.outcome;
        char room[CELL_MAX], *outcome;
        const size_t size = sizeof(ret->text[SHOWN_OUTCOME]);

        (void) copy_string(ret->id, sizeof(ret->id), v->disk.facts.interface);
        for (enum shown i = 0; i < _SHOWN_MAX; i++) {
                const char *text = column_text(shown[i].column, v, room);

                (void) copy_string(ret->text[i], sizeof(ret->text[i]), *text ? text : "-");
        }
        outcome = ret->text[SHOWN_OUTCOME];
        if (o->code > 0 && o->step[0])
                (void) snprintf(outcome, size, _("%s in step %s"), outcome_word(o->code), o->step);
        else if (o->code >= 0)
                (void) copy_string(outcome, size, outcome_word(o->code));
}

struct monitor {
        const struct views *only; /* only these disks; NULL: all */
        bool json;
        struct snapshot *told; /* what was printed last, for each disk */
        size_t n_told;
        bool deaf; /* stdout cannot be written any more; this is no fault of the daemon */
};

/* ---- output ---- */

static void tell_json(const struct view *v, const char *event,
                      const bool changed[static _SHOWN_MAX])
{
        const char *names[_SHOWN_MAX + 1] = {};
        struct timespec now;
        size_t n = 0;

        for (enum shown i = 0; i < _SHOWN_MAX; i++)
                if (changed[i])
                        names[n++] = shown[i].name;
        (void) clock_gettime(CLOCK_REALTIME, &now);
        json_print_line(json_event(
                v, event, (uint64_t) now.tv_sec * USEC_PER_SEC + (uint64_t) now.tv_nsec / 1000,
                names));
}

/* "2026-11-20 15:04:05  2-1:1.0 (sda) changed: state waiting -> switching. It is ..." */
static void tell_line(const struct view *v, const char *event, const struct snapshot *before,
                      const struct snapshot *now, const bool changed[static _SHOWN_MAX])
{
        char clock[CLOCK_MAX], text[4096];
        const char *label = VIEW_LABEL(v);
        const char *sep = ": ";

        (void) copy_string(text, sizeof(text), _(event));
        for (enum shown i = 0; i < SHOWN_REASON; i++) {
                if (before && !changed[i])
                        continue;
                if (!before && i != SHOWN_STATE && i != SHOWN_DRIVER)
                        continue;
                text_add(text, sizeof(text), "%s%s ", sep, _(shown[i].label ?: shown[i].name));
                if (before && i != SHOWN_OUTCOME)
                        text_add(text, sizeof(text), "%s -> ", before->text[i]);
                text_add(text, sizeof(text), "%s", now->text[i]);
                sep = ", ";
        }
        if (!before || changed[SHOWN_REASON])
                text_add(text, sizeof(text), ". %s", v->reason);
        (void) output_clock((uint64_t) time(NULL) * USEC_PER_SEC, clock);
        printf("%s  %s%s%s ", clock, colour(output_colour(v)), label, colour_end());
        output_line((int) (strlen(clock) + 3 + fold_width(label)), text);
}

/* before: what was printed last about it, or NULL. */
static void monitor_print(struct monitor *m, const struct view *v, const char *event,
                          const struct snapshot *before, const struct snapshot *now)
{
        bool changed[_SHOWN_MAX] = {}, any = !before;

        for (enum shown i = 0; before && i < _SHOWN_MAX; i++) {
                changed[i] = !streq(before->text[i], now->text[i]);
                any = any || changed[i];
        }
        /* A switch has ended. Its outcome may equal that of the one before. */
        if (before && changed[SHOWN_STATE] &&
            streq(before->text[SHOWN_STATE], state_to_string(STATE_SWITCHING)) &&
            v->disk.outcome.code >= 0)
                changed[SHOWN_OUTCOME] = true;
        if (!any)
                return;
        progress_clear();
        if (m->json)
                tell_json(v, event, changed);
        else
                tell_line(v, event, before, now, changed);
        m->deaf = fflush(stdout) != 0 || ferror(stdout);
}

static struct snapshot *find_told(struct monitor *m, const char *id)
{
        for (size_t i = 0; i < m->n_told; i++)
                if (streq(m->told[i].id, id))
                        return &m->told[i];
        return NULL;
}

static void on_disk(const struct view *v, enum disk_event e, void *data)
{
        struct monitor *m = data;
        struct snapshot *before = find_told(m, v->disk.facts.interface), now;

        if (m->deaf || (m->only && !views_find(m->only, v->disk.facts.interface)))
                return;
        snapshot_take(v, &now);
        if (e == DISK_REMOVED) {
                monitor_print(m, v, N_("removed"), NULL, &now);
                if (before)
                        *before = m->told[--m->n_told];
        } else if (before) {
                monitor_print(m, v, N_("changed"), before, &now);
                *before = now;
        } else {
                monitor_print(m, v, e == DISK_PRESENT ? N_("present") : N_("added"), NULL, &now);
                need_push(m->told, m->n_told, now);
        }
}

static int monitor_follow(struct monitor *m, struct daemon_watch *w, struct ctl *c)
{
        int r = daemon_watch_open(w, &c->client.roots, &c->remote);

        while (r >= 0 && !m->deaf) {
                r = daemon_watch_next(w, UINT64_MAX);
                /* uasd may come back and end before it has answered. The bus reports that, too. */
                if (r == -ENOTCONN && sd_bus_is_open(w->remote->bus) > 0)
                        r = 0;
                if (w->gone)
                        log_info("uasd has ended; waiting for it to come back.");
                w->gone = w->changed = false;
        }
        return r;
}

int verb_monitor(struct ctl *c, char **args)
{
        struct monitor m = {.json = c->options->json, .only = c->named ? &c->views : NULL};
        struct daemon_watch watch = DAEMON_WATCH_NULL;
        int r;

        watch.on_disk = on_disk;
        watch.data = &m;
        if (c->v)
                watch.disk = c->v->disk.facts.interface;
        watch.on_step = progress_show;
        watch.hangup_fd = STDOUT_FILENO; /* a hangup shows that the reader has gone */
        r = monitor_follow(&m, &watch, c);
        daemon_watch_close(&watch);
        free(m.told);
        if (m.deaf)
                return UASD_EXIT_FAILED;
        /* A write error is reported at the end. It is not a failure if the reader has gone. */
        if (r == -EPIPE)
                return UASD_EXIT_OK;
        return source_lost(r);
}
