/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/work/work.h"

#include <assert.h>

#include "common/exit-codes.h"
#include "common/gettext.h"
#include "common/names.h"
#include "daemon/feature/features.h"
#include "sys/state/attachment.h"

/* A recovery may be killed as well: most tries in a row. */
#define RECOVER_TRIES 4

/* One uasd-switch. */
struct job {
        struct manager *manager;
        struct entry *entry;                                /* NULL: the disk has gone */
        char step[sizeof(((struct outcome *) NULL)->step)]; /* the last one that it reported; empty: none */
        bool recovering;
        struct outcome killed; /* recovery: the end of the switch that left the record, if it was our child */
        unsigned tries;
};

/* Its disk was unplugged: the child ends by itself, and is reaped. */
void job_orphan(struct job *j)
{
        if (j)
                j->entry = NULL;
}

const char *job_step(const struct job *j)
{
        return j && j->step[0] ? j->step : NULL;
}

static void on_line(void *data, const char *line, const struct outcome *so_far)
{
        struct job *j = data;

        if (strncmp(line, "STEP ", strlen("STEP ")) != 0)
                return;
        memcpy(j->step, so_far->step, sizeof(j->step));
        if (j->entry)
                bus_request_step(j->entry, j->step);
}

/* Returns the outcome, with what the job itself could not report. */
static struct outcome outcome_of(const struct job *j, const struct child_end *end)
{
        struct outcome o = *end->outcome;

        if (o.code >= 0)
                return o;
        o.code = j->recovering && end->exited ? end->status : UASD_EXIT_FAILED;
        if (o.code != UASD_EXIT_OK)
                (void) snprintf(o.text, sizeof(o.text),
                                end->exited ? N_("uasd-switch ended by exit status %i") : N_("uasd-switch ended by signal %i"),
                                end->status);
        return o;
}

/* Marks a switch until its end is in the journal. If uasd is killed meanwhile, it finds the mark when it starts. */
static void mark_untold(const struct entry *e, bool untold)
{
        (void) attachment_change(&e->manager->roots, &e->life.disk.facts, MARK_UNTOLD,
                                 &(struct attachment_mark){.untold = untold});
}

void job_reported(struct entry *e)
{
        if (!e->job) /* or the next one has begun */
                mark_untold(e, false);
}

static int recover(struct entry *e, const struct outcome *killed, unsigned tries);

static void on_end(void *data, const struct child_end *end)
{
        _cleanup_free_ struct job *j = data;
        struct entry *e = j->entry;
        struct manager *m = j->manager;
        bool again = !end->exited && j->tries < RECOVER_TRIES;
        struct event done = {.type = EVENT_DONE};

        keepoff_schedule(m); /* because of the history that it has written */
        if (!e)
                return;
        kmsg_drain(m); /* uasd-switch has already judged these records */
        done.killed = j->killed.code >= 0 || (again && !j->recovering);
        done.outcome = j->killed.code >= 0 ? j->killed : outcome_of(j, end);
        e->job = NULL;
        /* It was killed in the middle: its record shows what must be undone. */
        if (again && recover(e, done.killed ? &done.outcome : NULL, j->tries + 1) >= 0)
                return;
        /* First the present driver of the disk, then the outcome. */
        queue_rescan(m, e->life.disk.facts.interface);
        queue_event(e, &done);
}

static int start(struct entry *e, const char *const *args, const struct job *template)
{
        struct job *j = malloc(sizeof(*j));
        struct child *child;
        int r;

        assert(!e->job);
        if (!j)
                return -ENOMEM;
        *j = *template;
        j->manager = e->manager;
        j->entry = e;
        mark_untold(e, true);
        r = child_switch(e->manager, args, false, on_line, on_end, j, &child);
        if (r < 0) {
                mark_untold(e, false);
                free(j);
                return r;
        }
        e->job = j;
        return 0;
}

int job_start(struct entry *e, const struct action *a)
{
        const char *args[6] = {};
        char hold[48];
        size_t n = 0;
        int r;

        if (a->automatic)
                args[n++] = "--automatic";
        if (a->plugged)
                args[n++] = "--plugged";
        if (a->deadline) {
                (void) snprintf(hold, sizeof(hold), "--hold-deadline=%llu", (unsigned long long) a->deadline);
                args[n++] = hold;
        }
        args[n++] = e->life.disk.facts.interface;
        args[n] = driver_to_string(a->target);
        r = start(e, args, &(struct job){.killed.code = -1});
        if (r < 0) {
                struct event failed = {.type = EVENT_DONE, .outcome.code = UASD_EXIT_FAILED};

                (void) snprintf(failed.outcome.text, sizeof(failed.outcome.text), N_("cannot start %s: %s"), PROGRAM_SWITCH,
                                strerror(-r));
                queue_event(e, &failed);
        }
        return r;
}

static int recover(struct entry *e, const struct outcome *killed, unsigned tries)
{
        const char *const args[] = {"--recover", e->life.disk.facts.interface, NULL};

        return start(
                e, args,
                &(struct job){.recovering = true, .tries = tries, .killed = killed ? *killed : (struct outcome){.code = -1}});
}

int job_recover(struct entry *e)
{
        return recover(e, NULL, 0);
}
