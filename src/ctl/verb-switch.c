/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/context.h"
#include "ctl/freeing.h"
#include "ctl/options.h"

#include <fcntl.h>
#include <signal.h>

#include "client/local.h"
#include "client/watch.h"
#include "common/names.h"
#include "core/explain.h"
#include "core/policy.h"
#include "ctl/alone.h"
#include "ctl/boot.h"
#include "ctl/output.h"
#include "ctl/quirks-say.h"
#include "ctl/verbs.h"
#include "sys/io/clock.h"
#include "sys/platform/off.h"
#include "sys/state/attachment.h"

/* uasd takes a free disk at once: one that still waits after this is in use. */
#define BEGIN_USEC (1 * USEC_PER_SEC)
/* Longer than a switch takes, with its rollback. */
#define WORK_USEC (120 * USEC_PER_SEC)

struct wish {
        enum driver target; /* DRIVER_NONE: removes the override */
        bool force, wait, told;
        const struct view *disk; /* before the request */
        uint64_t wait_usec;
};

/* Once. Not of a disk that turns out to be in use: there it would read as if the switch was done.
 */
static void tell_wish(struct wish *w)
{
        const struct view *v = w->disk;
        const char *from = view_driver(v) ?: _("no driver");

        if (w->told)
                return;
        w->told = true;
        if (w->target == DRIVER_NONE)
                log_info("%s: follows its policy again.", VIEW_LABEL(v));
        else if (v->disk.facts.driver == w->target)
                log_info("%s: stays on %s until it is unplugged.", VIEW_LABEL(v), from);
        else
                log_info("%s: from %s to %s, until it is unplugged.", VIEW_LABEL(v), from,
                         driver_to_string(w->target));
}

/* The switch has begun. */
static void on_step(const char *disk, const char *step, void *data)
{
        if (*step)
                tell_wish(data);
        progress_show(disk, step, NULL);
}

static int switch_print_plan(const struct view *v, const struct wish *w, const struct plan *p)
{
        const char *from = view_driver(v) ?: _("no driver"),
                   *to = driver_to_string(p->decision.target), *label = VIEW_LABEL(v);

        if (p->refusal.code != UASD_EXIT_OK) {
                log_error("%s: would not be switched to %s. %s", label, driver_to_string(w->target),
                          _(refusal_text(&p->refusal)));
                if (p->refusal.force_helps)
                        log_info(FORCE_HELPS);
                log_info("For the reasons: uasctl explain %s", facts_name(&v->disk.facts));
                return p->code;
        }
        if (!decision_wants_switch(&v->disk.facts, &p->decision))
                return log_answer(p->code, "%s: would stay on %s.", label, from);
        if (p->code == UASD_EXIT_FAILED)
                return log_failure(p->code, "%s: would stay on %s. %s", label, from,
                                   _(reason_sentence(REASON_UAS_KEPT_AWAY)));
        if (p->code == UASD_EXIT_DEFERRED)
                log_info(
                        "%s: would be switched from %s to %s as soon as nothing uses it or inhibits it.",
                        label, from, to);
        else
                log_info("%s: would be switched from %s to %s now.", label, from, to);
        if (p->quirk[0])
                log_info("  uasd would add the quirk %s for that.", p->quirk);
        say_users(v);
        if (v->users_error < 0)
                log_info("  Cannot find its users: %s", strerror(-v->users_error));
        return p->code;
}

/* Only uasd knows leases and inhibitors. Without it only the kernel's facts count. */
static int dry_run(struct ctl *c, const char *what, const struct wish *w)
{
        _cleanup_(courses_done) struct courses courses = {};
        const struct course *course = NULL;
        struct plan plan;
        const char *off = uasd_off(&c->client.roots);
        int r = ctl_read(c, FROM_KERNEL, what);

        if (r != UASD_EXIT_OK)
                return r;
        if (off)
                return log_failure(UASD_EXIT_FAILED, "%s: would not be switched: %s",
                                   VIEW_LABEL(c->v), _(off));
        plan_switch(c->v, w->target, w->force, &plan);
        if (source_ask(&c->client, REMOTE_ORDER, false, &c->remote, &courses))
                course = courses_find(&courses, c->v->disk.facts.interface);
        else if (plan.code == UASD_EXIT_DEFERRED)
                return alone_refuse(c, &(struct outcome){});
        if (course && course->lease[0])
                return log_failure(UASD_EXIT_REFUSED, "%s: would not be switched. %s",
                                   VIEW_LABEL(c->v), course->lease);
        if (course && course->inhibited && plan.code == UASD_EXIT_OK &&
            decision_wants_switch(&c->v->disk.facts, &plan.decision))
                plan.code = UASD_EXIT_DEFERRED;
        r = switch_print_plan(c->v, w, &plan);
        if (r == UASD_EXIT_OK || r == UASD_EXIT_DEFERRED)
                say_trim_is_lost(c, c->v, plan.decision.target);
        return r;
}

static int tell_outcome(const char *label, const struct outcome *o)
{
        if (o->code == UASD_EXIT_OK)
                log_info("%s: %s", label, o->text[0] ? o->text : _("done."));
        else if (o->step[0] && o->code == UASD_EXIT_ROLLED_BACK)
                log_error("%s: rolled back: %s (step %s)", label, o->text, o->step);
        else if (o->step[0])
                log_error("%s: %s (step %s)", label, o->text, o->step);
        else
                log_error("%s: %s", label, o->text[0] ? o->text : _("The switch failed."));
        if (o->code < 0)
                return UASD_EXIT_FAILED;
        return o->code;
}

static bool is_deferred(const struct view *v)
{
        return v->disk.state == STATE_WAITING || v->disk.state == STATE_HELD;
}

static int log_disk_gone(const char *label)
{
        return log_failure(UASD_EXIT_NO_DISK, "%s: the disk is gone.", label);
}

/* CLOCK_BOOTTIME; UINT64_MAX: no limit. */
static uint64_t end_after(uint64_t usec)
{
        uint64_t now = now_boottime();

        if (usec >= UINT64_MAX - now)
                return UINT64_MAX;
        return now + usec;
}

/* The disk with its reason and its users, which no signal carries. NULL: it is gone, or uasd does
 * not answer. */
static const struct view *watch_refreshed(struct daemon_watch *watch, const char *id)
{
        if (daemon_watch_refresh(watch) < 0)
                return NULL;
        return views_find(&watch->disks, id);
}

static int tell_end(struct daemon_watch *watch, const char *id, const char *label)
{
        /* The kernel may have given the disk another name. */
        const struct view *v = watch_refreshed(watch, id);

        return tell_outcome(v ? VIEW_LABEL(v) : label, &watch->outcome);
}

/* ^C ends uasctl, not the request. A hangup of the pipe ends the wait, also if the signal comes
 * just before it. */
static struct {
        int reading, writing;
        volatile sig_atomic_t which;
} interrupt = {-1, -1, 0};

static void switch_on_signal(int which)
{
        interrupt.which = which;
        (void) close(interrupt.writing);
}

static void watch_signals(struct daemon_watch *watch)
{
        const struct sigaction a = {.sa_handler = switch_on_signal, .sa_flags = (int) SA_RESETHAND};
        int ends[2];

        if (pipe2(ends, O_CLOEXEC) < 0)
                return;
        interrupt.reading = watch->hangup_fd = ends[0];
        interrupt.writing = ends[1];
        (void) sigaction(SIGINT, &a, NULL);
}

/* Says that the request stays, and how to end it. */
static int tell_pending(struct ctl *c, struct daemon_watch *watch, const char *id,
                        const char *label)
{
        const struct view *v = watch_refreshed(watch, id);

        if (!v)
                return log_disk_gone(label);
        log_info("%s: still %s. The request stays.", label, state_to_string(v->disk.state));
        if (is_deferred(v))
                return tell_deferred(c, label, v);
        return UASD_EXIT_DEFERRED;
}

/*
 * Waits for the end of the job. With --wait it also waits while the disk is in use. Without it,
 * only for a switch that has begun.
 */
static int switch_follow(struct ctl *c, struct daemon_watch *watch, struct wish *w)
{
        const char *id = w->disk->disk.facts.interface, *label = VIEW_LABEL(w->disk);
        uint64_t begin = end_after(BEGIN_USEC), end = end_after(WORK_USEC);
        bool pending = false;

        if (w->wait)
                end = end_after(w->wait_usec);
        for (;;) {
                uint64_t until = end;
                const struct view *v;
                int r;

                if (!w->wait && !pending && begin < end)
                        until = begin;
                r = daemon_watch_next(watch, until);
                watch->changed = false;
                if (watch->ended) {
                        tell_wish(w);
                        return tell_end(watch, id, label);
                }
                if (interrupt.which) {
                        (void) tell_pending(c, watch, id, label);
                        (void) raise(
                                interrupt.which); /* uasctl ends by it, as its caller expects */
                }
                if (watch->gone)
                        return source_lost(-ENOTCONN);
                if (r < 0 && r != -ETIMEDOUT)
                        return source_lost(r);
                v = views_find(&watch->disks, id);
                if (!v)
                        return log_disk_gone(label);
                if (now_boottime() >= end)
                        return tell_pending(c, watch, id, label);
                if (w->wait || now_boottime() < begin)
                        continue;
                pending = !is_deferred(v);
                if (pending) {
                        tell_wish(w);
                        continue;
                }
                r = daemon_watch_refresh(watch); /* no signal carries the reason and the users */
                if (r < 0)
                        return source_lost(r);
                v = views_find(&watch->disks, id);
                if (v && is_deferred(v))
                        return tell_deferred(c, label, v);
        }
}

/* The override outlives uasctl: a uasd that starts later follows it. */
static int switch_mark(struct ctl *c, const struct wish *w)
{
        int r = attachment_change(&c->client.roots, &c->v->disk.facts, MARK_OVERRIDE,
                                  &(struct attachment_mark){.override_target = w->target,
                                                            .override_forced = w->force});

        if (r < 0)
                return log_failure(UASD_EXIT_FAILED, "%s: cannot record the request: %s",
                                   VIEW_LABEL(c->v), strerror(-r));
        return UASD_EXIT_OK;
}

/* A request that fails leaves no override behind. */
static int switch_alone(struct ctl *c, struct wish *w)
{
        const struct view *v = w->disk = c->v;
        struct outcome o = {.code = UASD_EXIT_DEFERRED};
        sigset_t ends, before;
        struct plan plan;
        int r;

        (void) sigemptyset(&ends);
        (void) sigaddset(&ends, SIGINT);
        (void) sigaddset(&ends, SIGTERM);
        (void) sigaddset(&ends, SIGHUP);
        plan_switch(v, w->target, w->force, &plan);
        if (plan.refusal.code != UASD_EXIT_OK) {
                log_error("%s: %s", VIEW_LABEL(v), _(refusal_text(&plan.refusal)));
                if (plan.refusal.force_helps)
                        log_info(FORCE_HELPS);
                return plan.refusal.code;
        }
        if (!decision_wants_switch(&v->disk.facts, &plan.decision)) {
                r = switch_mark(c, w);
                if (r == UASD_EXIT_OK)
                        tell_wish(w);
                return r;
        }
        if (plan.code == UASD_EXIT_DEFERRED)
                return alone_refuse(c, &o);
        say_trim_is_lost(c, v, plan.decision.target);
        /* A signal ends uasctl when the request of a switch that succeeds is recorded. */
        (void) sigprocmask(SIG_BLOCK, &ends, &before);
        alone_run(c, NULL, driver_to_string(plan.decision.target), on_step, w, &o);
        if (o.code == UASD_EXIT_DEFERRED)
                r = alone_refuse(c, &o);
        else
                r = tell_outcome(VIEW_LABEL(v), &o);
        if (r == UASD_EXIT_OK)
                r = switch_mark(c, w);
        (void) sigprocmask(SIG_SETMASK, &before, NULL);
        return r;
}

static int switch_request(struct ctl *c, const char *what, struct wish *w)
{
        _cleanup_(daemon_watch_close) struct daemon_watch watch = DAEMON_WATCH_NULL;
        _cleanup_free_ char *job = NULL;
        char lost[TRIM_LOST_MAX];
        struct remote_call call = {.method = "Switch", .value = "", .force = w->force};
        int r = ctl_read(c, FROM_DAEMON_OR_ROOT, what);

        if (r != UASD_EXIT_OK)
                return r;
        if (!c->remote.bus)
                return switch_alone(c, w);
        if (w->target != DRIVER_NONE)
                call.value = driver_to_string(w->target);
        call.disk = watch.disk = c->v->disk.facts.interface;
        w->disk = c->v;
        watch.on_step = on_step;
        watch.data = w;
        r = daemon_watch_open(&watch, &c->client.roots, &c->remote);
        if (r < 0)
                return source_lost(r);
        (void) trim_lost(c, c->v, w->target, lost, sizeof(lost));
        r = request_call(&c->client, &c->remote, &call, &job);
        if (r != UASD_EXIT_OK)
                return r;
        if (*lost)
                log_info("%s", lost);
        watch_signals(&watch);
        watch.job = job; /* if the job has ended already, its signal is still in the queue */
        if (w->wait || w->target == DRIVER_NONE)
                tell_wish(w);
        return switch_follow(c, &watch, w);
}

int verb_switch(struct ctl *c, char **args)
{
        struct wish w = {
                .force = c->options->given & OPTION_FORCE,
                .wait = c->options->given & OPTION_WAIT,
                .wait_usec = c->options->wait_usec,
        };

        if (args[1] && streq(args[1], DRIVER_NAME_UAS))
                w.target = DRIVER_UAS;
        else if (args[1])
                w.target = DRIVER_USB_STORAGE;
        if (c->options->given & OPTION_DRY_RUN)
                return dry_run(c, args[0], &w);
        return switch_request(c, args[0], &w);
}

/* ---- wait ---- */

/* Without the daemon there is no signal when a hold ends. */
#define LOOK_AGAIN_USEC (500 * USEC_PER_MSEC)

static int out_of_time(const struct view *v)
{
        return log_answer(UASD_EXIT_DEFERRED, "%s: timed out. %s", v->disk.facts.interface,
                          v->reason);
}

static int wait_remote(struct ctl *c, const char *id, uint64_t end)
{
        _cleanup_(daemon_watch_close) struct daemon_watch watch = DAEMON_WATCH_NULL;
        int r;

        watch.disk = id;
        watch.on_step = progress_show;
        r = daemon_watch_open(&watch, &c->client.roots, &c->remote);
        for (;;) {
                bool late = now_boottime() >= end;
                const struct view *v;

                if (late && (r >= 0 || r == -ETIMEDOUT)) /* for the present reason */
                        r = daemon_watch_refresh(&watch);
                v = views_find(&watch.disks, id);
                if (r < 0 && (r != -ETIMEDOUT || watch.gone))
                        return source_lost(r);
                if (watch.gone)
                        return source_lost(-ENOTCONN);
                if (!v)
                        return log_disk_gone(id);
                if (!state_is_pending(v->disk.state))
                        return UASD_EXIT_OK;
                if (late)
                        return out_of_time(v);
                watch.changed = false;
                r = daemon_watch_next(&watch, end);
        }
}

static int wait_local(struct ctl *c, const char *id, uint64_t end)
{
        for (;;) {
                _cleanup_(views_done) struct views views = {};
                const struct view *v;
                int r;

                r = source_local(&c->client, DETAIL_ALL, NULL, &views);
                if (r != UASD_EXIT_OK)
                        return r;
                v = views_find(&views, id);
                if (!v)
                        return log_disk_gone(id);
                if (!state_is_pending(v->disk.state) && v->disk.unattended) {
                        log_info("%s: uasd would switch it to %s, but is not running.", id,
                                 driver_to_string(v->disk.decision.target));
                        (void) client_say_command(&c->client, REMEDY_START, NULL,
                                                  _("To start it:"));
                        return UASD_EXIT_FAILED;
                }
                if (!state_is_pending(v->disk.state))
                        return UASD_EXIT_OK;
                if (now_boottime() >= end)
                        return out_of_time(v);
                (void) usleep(LOOK_AGAIN_USEC);
        }
}

int verb_wait(struct ctl *c, char **args)
{
        _cleanup_(courses_done) struct courses courses = {};
        bool daemon = source_ask(&c->client, REMOTE_ORDER, true, &c->remote, &courses);
        uint64_t end = end_after(c->options->wait_usec);
        int r = source_local(&c->client, DETAIL_ALL, daemon ? &courses : NULL, &c->views);

        if (r == UASD_EXIT_OK)
                r = ctl_choose(c, args);
        for (size_t i = 0; r == UASD_EXIT_OK && i < c->views.n; i++)
                r = (daemon ? wait_remote : wait_local)(c, c->views.list[i].disk.facts.interface,
                                                        end);
        return r;
}
