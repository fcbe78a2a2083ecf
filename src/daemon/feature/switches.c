/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/feature/switches.h"

#include <assert.h>
#include <fcntl.h>

#include "common/exit-codes.h"
#include "common/gettext.h"
#include "common/log.h"
#include "common/names.h"
#include "common/sentence.h"
#include "core/history.h"
#include "daemon/feature/event-hooks.h"
#include "daemon/feature/keepoff.h"
#include "daemon/feature/report.h"
#include "daemon/feature/trouble.h"
#include "daemon/work/child.h"
#include "daemon/work/marks.h"
#include "sys/state/attachment.h"
#include "sys/state/switch-record.h"

/* ---- uasd-switch as a child; its end is posted as EVENT_DONE ---- */

/* A recovery may be killed as well: most tries in a row. */
#define RECOVER_TRIES 4

/* One uasd-switch. */
struct switch_run {
        struct manager *manager;
        struct entry *entry; /* NULL: the disk has gone */
        char step[sizeof(
                ((struct outcome *) NULL)->step)]; /* the last one that it reported; empty: none */
        char names[64]; /* of the block devices, which have gone meanwhile */
        bool recovering;
        /* recovery: the end of the switch that left the record, if it was our child */
        struct outcome killed;
        unsigned tries;
};

/* Its disk was unplugged: the child ends by itself, and is reaped. */
void switch_run_orphan(struct switch_run *run)
{
        if (run)
                run->entry = NULL;
}

const char *switch_run_step(const struct switch_run *run)
{
        if (!run || !run->step[0])
                return NULL;
        return run->step;
}

const char *switch_run_names(const struct switch_run *run)
{
        if (!run)
                return "";
        return run->names;
}

static void switch_run_on_line(void *data, const char *line, const struct outcome *so_far)
{
        struct switch_run *run = data;

        if (!startswith(line, "STEP "))
                return;
        memcpy(run->step, so_far->step, sizeof(run->step));
        if (run->entry)
                bus_request_step(run->entry, run->step);
}

/* Returns the outcome, with what uasd-switch itself could not report. */
static struct outcome switch_run_outcome(const struct switch_run *run, const struct child_end *end)
{
        struct outcome o = *end->outcome;

        if (o.code >= 0)
                return o;
        o.code = UASD_EXIT_FAILED;
        if (run->recovering && end->exited)
                o.code = end->status;
        if (o.code == UASD_EXIT_OK)
                return o;
        if (end->exited)
                (void) sentence(o.text, sizeof(o.text), N_("uasd-switch ended by exit status %i"),
                                end->status);
        else
                (void) sentence(o.text, sizeof(o.text), N_("uasd-switch ended by signal %i"),
                                end->status);
        return o;
}

/* Marks a switch until its end is in the journal. If uasd is killed meanwhile, it finds the mark
 * when it starts. */
static void switch_mark_unreported(struct entry *e, bool untold)
{
        const struct attachment_mark mark = {.untold = untold, .told = e->told};

        mark_keep(e, MARK_UNTOLD | MARK_TOLD, &mark);
}

void switch_run_reported(struct entry *e)
{
        if (!e->run) /* or the next one has begun */
                switch_mark_unreported(e, false);
}

static int switch_recover(struct entry *e, const struct outcome *killed, unsigned tries);

static void switch_run_on_end(void *data, const struct child_end *end)
{
        _cleanup_free_ struct switch_run *run = data;
        struct entry *e = run->entry;
        struct manager *m = run->manager;
        bool again = !end->exited && run->tries < RECOVER_TRIES;
        struct event done = {.type = EVENT_DONE};

        keepoff_schedule(m); /* because of the history that it has written */
        if (!e)
                return;
        kmsg_drain(m); /* uasd-switch has already judged these records */
        done.killed = run->killed.code >= 0 || (again && !run->recovering);
        done.outcome = run->killed.code >= 0 ? run->killed : switch_run_outcome(run, end);
        e->run = NULL;
        /* It was killed in the middle: its record shows what must be undone. */
        if (again && switch_recover(e, done.killed ? &done.outcome : NULL, run->tries + 1) >= 0)
                return;
        /* Another process was killed. Its record is in order now, and our switch has not begun. */
        done.foreign = run->recovering && run->killed.code < 0 &&
                       e->life.attempt.to != DRIVER_NONE && done.outcome.code == UASD_EXIT_OK;
        /* First the present driver of the disk, then the outcome. */
        queue_rescan(m, e->life.disk.facts.interface);
        queue_event(e, &done);
}

static int switch_run_spawn(struct entry *e, const char *const *args,
                            const struct switch_run *template)
{
        struct switch_run *run = malloc(sizeof(*run));
        int r;

        assert(!e->run);
        if (!run)
                return -ENOMEM;
        *run = *template;
        run->manager = e->manager;
        run->entry = e;
        (void) luns_names(e->life.disk.luns, e->life.disk.n_luns, run->names, sizeof(run->names));
        switch_mark_unreported(e, true);
        r = child_switch(e->manager, args, switch_run_on_line, switch_run_on_end, run);
        if (r < 0) {
                switch_mark_unreported(e, false);
                free(run);
                return r;
        }
        e->run = run;
        return 0;
}

static void switch_run_start(struct entry *e, const struct action *a)
{
        const struct facts *f = &e->life.disk.facts;
        char attachment[ATTACHMENT_ARG_MAX], hold[48];
        const char *args[7] = {};
        size_t n = 0;
        int r;

        if (a->automatic)
                args[n++] = "--automatic";
        if (a->plugged)
                args[n++] = "--plugged";
        if (a->deadline) {
                (void) snprintf(hold, sizeof(hold), "--hold-deadline=%llu",
                                (unsigned long long) a->deadline);
                args[n++] = hold;
        }
        args[n++] = attachment_arg(f, attachment);
        args[n++] = f->interface;
        args[n] = driver_to_string(a->target);
        if (f->driver != DRIVER_NONE) /* after a failed roll-back uasd tries again: one event */
                (void) event_hooks_again(e, a->target);
        r = switch_run_spawn(e, args, &(struct switch_run){.killed.code = -1});
        if (r < 0) {
                struct event failed = {.type = EVENT_DONE, .outcome.code = UASD_EXIT_FAILED};

                (void) sentence(failed.outcome.text, sizeof(failed.outcome.text),
                                N_("cannot start %s: %s"), PROGRAM_SWITCH, strerror(-r));
                queue_event(e, &failed);
                log_error("%s: cannot start uasd-switch: %s", e->life.disk.facts.interface,
                          strerror(-r));
        }
}

static int switch_recover(struct entry *e, const struct outcome *killed, unsigned tries)
{
        const char *const args[] = {"--recover", e->life.disk.facts.interface, NULL};
        struct switch_run template = {.recovering = true, .tries = tries, .killed.code = -1};

        if (killed)
                template.killed = *killed;
        return switch_run_spawn(e, args, &template);
}

/* ---- any uasd-switch at work on a disk ---- */

/* How often uasd checks for the end of a foreign switch. */
#define FOREIGN_USEC USEC_PER_SEC

/* Returns true if a foreign uasd-switch has the lock of the interface. ret_stale: it does not, and
 * has left a record. */
static bool switch_lock_taken(const struct manager *m, const char *interface, bool *ret_stale)
{
        _cleanup_close_ int fd = -1;

        *ret_stale = false;
        fd = openat(m->roots.run, SWITCH_LOCK_PATH(interface), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0)
                return false;
        if (switch_lock_held(fd, SWITCH_LOCK))
                return true;
        *ret_stale = switch_recorded(&m->roots, interface);
        return false;
}

static void switch_check_again(void *data)
{
        struct entry *e = data;

        if (e->life.attempt.running && !e->run)
                (void) switch_foreign_runs(e);
}

/*
 * uasd-switch removes its record before it releases the lock. No event reports the release, and
 * other programs wait for the lock, too. So uasd checks until it is free.
 */
static void switch_check_later(struct entry *e)
{
        (void) later_call(&e->foreign.again, e->manager->event, FOREIGN_USEC, switch_check_again,
                          e);
}

bool switch_foreign_runs(struct entry *e)
{
        bool stale;

        if (switch_lock_taken(e->manager, e->life.disk.facts.interface, &stale)) {
                switch_check_later(e);
                return true;
        }
        later_cancel(&e->foreign.again);
        if (stale && switch_recover(e, NULL, 0) >= 0)
                return false;
        keepoff_schedule(e->manager); /* because of the history that it has written */
        queue_rescan(e->manager, e->life.disk.facts.interface);
        queue_event(e, &(struct event){
                               .type = EVENT_DONE, .foreign = true, .replugged = e->foreign.gone});
        return false;
}

static bool switch_adopt_running(struct entry *e, bool *ret_stale)
{
        if (!switch_lock_taken(e->manager, e->life.disk.facts.interface, ret_stale))
                return false;
        e->life.attempt.running = true;
        e->foreign.gone = switch_of_another(&e->manager->roots, &e->life.disk.facts);
        switch_check_later(e);
        return true;
}

void switch_adopt(struct entry *e, bool untold)
{
        const struct facts *f = &e->life.disk.facts;
        bool stale;

        if (switch_adopt_running(e, &stale))
                return;
        if (stale)
                e->life.attempt.running = switch_recover(e, NULL, 0) >= 0;
        else if (untold) { /* the switch has ended, but uasd ended before it could report that */
                log_notice("%s: a switch begun earlier has ended; it is on %s", f->interface,
                           driver_to_string(f->driver));
                switch_mark_unreported(e, false);
        }
}

void switch_begin(struct entry *e, const struct action *a)
{
        bool stale;

        if (switch_adopt_running(e, &stale))
                return;
        if (a->target == DRIVER_UAS)
                trouble_begin(e, a->target);
        switch_run_start(e, a);
}

/* ---- eject ---- */

/*
 * A uasd-switch that ejects a disk. It waits for a switch that is under way, and takes the lock of
 * the disk. So a switch that is wanted meanwhile finds the lock held, as that of a foreign switch.
 * The entry is removed when the disk has gone, like that of a disk that was unplugged.
 */
struct eject {
        LIST_ENTRY(eject) link;
        struct manager *manager;
        char interface[INTERFACE_NAME_MAX], names[256],
                usb_id[USB_ID_MAX]; /* it may be gone before its end is reported */
        struct bus_call *call;      /* to be answered */
};

static const char *eject_bus_error(const struct outcome *o)
{
        if (o->code == UASD_EXIT_DEFERRED)
                return UASD_BUS_ERROR_IN_USE;
        if (o->code == UASD_EXIT_REFUSED)
                return UASD_BUS_ERROR_REFUSED;
        if (o->code == UASD_EXIT_NO_DISK)
                return UASD_BUS_ERROR_NO_SUCH_DISK;
        return SD_BUS_ERROR_FAILED;
}

static void eject_on_end(void *data, const struct child_end *end)
{
        _cleanup_free_ struct eject *run = data;
        const struct outcome *o = end->outcome;
        struct entry *e = disk_find(run->manager, run->interface);
        char text[sizeof(o->text) * 4];

        LIST_REMOVE(run, link);
        if (e) /* a client that is refused asks for its present users */
                e->users_at = 0;
        (void) make_harmless(o->text[0] ? o->text : "uasd-switch has died", text, sizeof(text));
        if (o->code == UASD_EXIT_OK) {
                report_ejected(run->interface, run->names, run->usb_id, text);
                bus_call_return(run->call);
        } else {
                bus_call_fail(run->call, eject_bus_error(o), "%s cannot be ejected: %s",
                              run->interface, text);
                log_notice("%s: not ejected: %s", run->interface, text);
        }
        bus_call_unref(run->call);
        queue_rescan(run->manager, run->interface);
}

void switch_eject_stop(struct manager *m)
{
        for (const struct eject *run = LIST_FIRST(&m->ejects); run; run = LIST_NEXT(run, link))
                bus_call_fail(run->call, UASD_BUS_ERROR_STOPPING,
                              "uasd ends while %s is being ejected, which goes on. It may be "
                              "unplugged when uasctl list does not show it any more.",
                              run->interface);
}

bool switch_ejects(const struct entry *e)
{
        const struct eject *run;

        LIST_FOREACH (run, &e->manager->ejects, link)
                if (streq(run->interface, e->life.disk.facts.interface))
                        return true;
        return false;
}

int switch_eject(struct entry *e, struct bus_call *call)
{
        const struct facts *f = &e->life.disk.facts;
        char attachment[ATTACHMENT_ARG_MAX];
        const char *const args[] = {"--eject", attachment_arg(f, attachment), f->interface, NULL};
        struct eject *run = calloc(1, sizeof(*run));
        int r;

        if (!run)
                return -ENOMEM;
        run->manager = e->manager;
        memcpy(run->interface, e->life.disk.facts.interface, sizeof(run->interface));
        (void) luns_names(e->life.disk.luns, e->life.disk.n_luns, run->names, sizeof(run->names));
        (void) history_usb_id(&e->life.disk.facts, run->usb_id, sizeof(run->usb_id));
        r = child_switch(e->manager, args, NULL, eject_on_end, run);
        if (r < 0) {
                free(run);
                return r;
        }
        LIST_INSERT_HEAD(&e->manager->ejects, run, link);
        run->call = bus_call_ref(call);
        return 0;
}
