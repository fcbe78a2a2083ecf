/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/work/claimer.h"

#include <signal.h>
#include <sys/wait.h>

#include "common/exit-codes.h"
#include "common/log.h"
#include "common/names.h"
#include "daemon/work/spawn.h"
#include "sys/io/clock.h"

/*
 * A uasd-switch that only has the claim of a disk: the open of a sick disk may hang, and must not hang the event loop. It ends
 * when it is killed, and when its stdin closes. That is also the case when this process ends for any reason.
 */

/* A caller waits no longer, and a slower disk is no use. */
#define CLAIM_USEC (20 * USEC_PER_SEC)

struct claimer {
        struct entry *entry; /* NULL: its result is not needed any more */
        claim_fn tell;
        pid_t pid;
        int in;
        sd_event_source *child, *output, *limit;
        bool kept;
        struct switch_output said;
};

static void claimer_free(struct claimer *c)
{
        sd_event_source_disable_unref(c->child);
        sd_event_source_disable_unref(c->output);
        sd_event_source_disable_unref(c->limit);
        (void) close_keep_errno(c->in);
        (void) close_keep_errno(c->said.fd);
        free(c);
}

static void take_line(const char *line, void *data)
{
        struct claimer *c = data;

        if (!streq(line, SWITCH_KEPT) || c->kept)
                return;
        c->kept = true;
        c->limit = sd_event_source_disable_unref(c->limit);
        if (c->entry)
                c->tell(c->entry, CLAIM_KEPT, NULL);
}

static int on_output(sd_event_source *s, int fd, uint32_t revents, void *data)
{
        struct claimer *c = data;

        switch_output_read(&c->said, take_line, c);
        if (revents & EPOLLHUP)
                (void) sd_event_source_set_enabled(s, SD_EVENT_OFF);
        return 0;
}

static int on_exit_of_child(sd_event_source *s, const siginfo_t *si, void *data)
{
        struct claimer *c = data;
        struct entry *e;

        switch_output_read(&c->said, take_line, c);
        e = c->entry;
        c->entry = NULL;
        if (e) {
                if (c->said.outcome.code < 0)
                        c->said.outcome =
                                (struct outcome){.code = UASD_EXIT_FAILED, .text = "the process that had its claim has died"};
                c->tell(e, CLAIM_ENDED, &c->said.outcome);
        }
        claimer_free(c);
        return 0;
}

/* It hangs in the kernel, and is reaped later. */
static int on_limit(sd_event_source *s, usec_t usec, void *data)
{
        static const struct outcome late = {.code = UASD_EXIT_FAILED, .step = "claim", .text = "it does not answer in time"};
        struct claimer *c = data;
        struct entry *e = c->entry;

        claimer_orphan(c);
        if (e)
                c->tell(e, CLAIM_ENDED, &late);
        return 0;
}

int claimer_start(struct entry *e, bool again, claim_fn report, struct claimer **ret)
{
        char *argv[] = {(char *) PROGRAM_SWITCH, (char *) "--machine", (char *) (again ? "--claim-again" : "--claim"),
                        e->life.disk.facts.interface, NULL};
        struct claimer *c = calloc(1, sizeof(*c));
        sd_event *event = e->manager->event;
        int r;

        if (!c)
                return -ENOMEM;
        *c = (struct claimer){.entry = e, .tell = report, .in = -1, .said = {.fd = -1, .outcome.code = -1}};
        r = spawn_switch(argv, &c->in, &c->said.fd, &c->pid);
        if (r >= 0)
                r = sd_event_add_child(event, &c->child, c->pid, WEXITED, on_exit_of_child, c);
        if (r >= 0)
                r = sd_event_add_io(event, &c->output, c->said.fd, EPOLLIN, on_output, c);
        if (r >= 0)
                r = sd_event_add_time_relative(event, &c->limit, CLOCK_MONOTONIC, CLAIM_USEC, 0, on_limit, c);
        if (r < 0) {
                claimer_free(c); /* closes its stdin, which ends the child */
                return r;
        }
        *ret = c;
        return 0;
}

pid_t claimer_pid(const struct claimer *c)
{
        return c ? c->pid : 0;
}

void claimer_stop(struct claimer *c)
{
        (void) kill(c->pid, SIGKILL);
        c->in = close_keep_errno(c->in);
}

void claimer_orphan(struct claimer *c)
{
        if (!c)
                return;
        c->entry = NULL;
        c->limit = sd_event_source_disable_unref(c->limit);
        claimer_stop(c);
}
