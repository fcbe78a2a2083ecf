/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/work/job.h"

#include <assert.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/wait.h>

#include "common/exit-codes.h"
#include "common/log.h"
#include "common/names.h"
#include "daemon/bus/announce.h"
#include "daemon/feature/keepoff.h"
#include "daemon/queue.h"
#include "daemon/source/kmsg.h"
#include "daemon/work/spawn.h"
#include "sys/state/attachment.h"
#include "sys/state/switch-record.h"

/* A recovery may be killed as well: most tries in a row. */
#define RECOVER_TRIES 4

/* One uasd-switch. It writes its steps to stdout, and at the end "END code step text". */
struct job {
        struct manager *manager;
        struct entry *entry; /* NULL: the disk has gone */
        pid_t pid;
        sd_event_source *child, *output;
        bool recovering;
        struct outcome killed; /* recovery: the end of the switch that left the record, if it was our child */
        unsigned tries;
        struct switch_output said;
};

static void job_free(struct job *j)
{
        sd_event_source_disable_unref(j->child);
        sd_event_source_disable_unref(j->output);
        (void) close_keep_errno(j->said.fd);
        free(j);
}

/* Its disk was unplugged: the child ends by itself, and is reaped. */
void job_orphan(struct job *j)
{
        if (j)
                j->entry = NULL;
}

const char *job_step(const struct job *j)
{
        return j && j->said.outcome.step[0] ? j->said.outcome.step : NULL;
}

static void take_line(const char *line, void *data)
{
        struct job *j = data;
        struct outcome *o = &j->said.outcome;

        if (sscanf(line, "STEP %23s", o->step) == 1) {
                if (j->entry)
                        bus_request_step(j->entry, o->step);
        } else if (sscanf(line, "CLAIMED %31s", o->claimed) != 1)
                (void) sscanf(line, "OPENED %31s", o->opened);
}

static int on_output(sd_event_source *s, int fd, uint32_t revents, void *data)
{
        struct job *j = data;

        switch_output_read(&j->said, take_line, j);
        if (revents & EPOLLHUP)
                (void) sd_event_source_set_enabled(s, SD_EVENT_OFF);
        return 0;
}

static int recover(struct entry *e, const struct outcome *killed, unsigned tries);

/* Adds what the job itself could not report. */
static void complete_outcome(struct job *j, const siginfo_t *si)
{
        struct outcome *o = &j->said.outcome;
        bool exited = si->si_code == CLD_EXITED;

        if (o->code >= 0)
                return;
        o->code = j->recovering && exited ? si->si_status : UASD_EXIT_FAILED;
        if (o->code != UASD_EXIT_OK)
                (void) snprintf(o->text, sizeof(o->text), "uasd-switch ended by %s %i", exited ? "exit status" : "signal",
                                si->si_status);
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

static int on_exit_of_child(sd_event_source *s, const siginfo_t *si, void *data)
{
        struct job *j = data;
        struct entry *e = j->entry;
        struct event done = {.type = EVENT_DONE};
        struct manager *m = j->manager;
        unsigned tries;
        bool again;

        switch_output_read(&j->said, take_line, j);
        keepoff_schedule(m); /* because of the history that it has written */
        if (!e) {
                job_free(j);
                return 0;
        }
        kmsg_drain(m->kmsg); /* uasd-switch has already judged these records */
        complete_outcome(j, si);
        again = si->si_code != CLD_EXITED && j->tries < RECOVER_TRIES;
        done.killed = j->killed.code >= 0 || (again && !j->recovering);
        done.outcome = j->killed.code >= 0 ? j->killed : j->said.outcome;
        tries = j->tries;
        e->job = NULL;
        job_free(j);
        /* It was killed in the middle: its record shows what must be undone. */
        if (again && recover(e, done.killed ? &done.outcome : NULL, tries + 1) >= 0)
                return 0;
        /* First the present driver of the disk, then the outcome. */
        queue_rescan(m, e->life.disk.facts.interface);
        queue_event(e, &done);
        return 0;
}

static int start(struct entry *e, char *const argv[], struct job **ret)
{
        struct job *j = calloc(1, sizeof(*j));
        sd_event *event = e->manager->event;
        int r;

        assert(!e->job);
        if (!j)
                return -ENOMEM;
        mark_untold(e, true);
        *j = (struct job){.manager = e->manager, .entry = e, .said = {.fd = -1, .outcome.code = -1}, .killed.code = -1};
        r = spawn_switch(argv, NULL, &j->said.fd, &j->pid);
        if (r >= 0)
                r = sd_event_add_child(event, &j->child, j->pid, WEXITED, on_exit_of_child, j);
        if (r >= 0)
                r = sd_event_add_io(event, &j->output, j->said.fd, EPOLLIN, on_output, j);
        if (r < 0) {
                mark_untold(e, false);
                job_free(j);
                return r;
        }
        *ret = e->job = j;
        return 0;
}

int job_start(struct entry *e, const struct action *a)
{
        char hold[48], *argv[8];
        struct job *j;
        size_t n = 0;
        int r;

        argv[n++] = (char *) PROGRAM_SWITCH;
        argv[n++] = (char *) "--machine";
        if (a->automatic)
                argv[n++] = (char *) "--automatic";
        if (a->plugged)
                argv[n++] = (char *) "--plugged";
        if (a->deadline) {
                (void) snprintf(hold, sizeof(hold), "--hold-deadline=%llu", (unsigned long long) a->deadline);
                argv[n++] = hold;
        }
        argv[n++] = e->life.disk.facts.interface;
        argv[n++] = (char *) driver_to_string(a->target);
        argv[n] = NULL;
        r = start(e, argv, &j);
        if (r < 0) {
                struct event failed = {.type = EVENT_DONE, .outcome.code = UASD_EXIT_FAILED};

                (void) snprintf(failed.outcome.text, sizeof(failed.outcome.text), "cannot start %s: %s", argv[0], strerror(-r));
                queue_event(e, &failed);
        }
        return r;
}

static int recover(struct entry *e, const struct outcome *killed, unsigned tries)
{
        char *argv[] = {(char *) PROGRAM_SWITCH, (char *) "--machine", (char *) "--recover", e->life.disk.facts.interface, NULL};
        struct job *j;
        int r = start(e, argv, &j);

        if (r < 0)
                return r;
        j->recovering = true;
        j->tries = tries;
        if (killed)
                j->killed = *killed;
        return 0;
}

int job_recover(struct entry *e)
{
        return recover(e, NULL, 0);
}
