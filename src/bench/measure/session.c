/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/measure/session.h"

#include <assert.h>

#include "bench/measure/fio.h"
#include "bench/tell/verdict.h"
#include "common/log.h"
#include "common/util.h"
#include "sys/io/clock.h"
#include "term/terminal.h"

/* The first estimates of a switch, of reading, and of a pause, before the first one of them was measured. */
#define SWITCH_USEC (8 * USEC_PER_SEC)
#define READ_RATE 100 /* bytes per microsecond */
/* The start and end of fio. */
#define RUN_MORE_USEC (1 * USEC_PER_SEC)
/* First estimate of a pattern that ends with its region, not with a time: the rates of hard disks. */
#define GUESS_BYTES 100e6
#define GUESS_READS_ALONE 120.0
#define GUESS_READS_QUEUED 600.0
#define GUESS_WRITES 700.0

/* ---- the steps ---- */

static void add(struct session *s, enum step_kind kind, enum driver driver, unsigned pattern, unsigned round)
{
        /* A pause separates two runs. There is none at the end. */
        if (kind == STEP_RUN && s->n_steps > 0 && s->steps[s->n_steps - 1].kind == STEP_RUN)
                add(s, STEP_PAUSE, driver, 0, 0);
        need_push(s->steps, s->n_steps, ((struct step){kind, driver, pattern, round, 0}));
}

/* Round 0, then the rounds from `from` up to `to`. */
static void add_block(struct session *s, enum driver driver, unsigned from, unsigned to)
{
        for (unsigned pattern = 0; pattern < s->bench->n_patterns; pattern++) {
                add(s, STEP_RUN, driver, pattern, 0);
                for (unsigned round = from; round <= to; round++)
                        add(s, STEP_RUN, driver, pattern, round);
        }
}

/* A file system that is mounted again has a new scratch file. */
static void add_switch(struct session *s, enum driver to)
{
        add(s, STEP_SWITCH, to, 0, 0);
        if (s->subject->remounts)
                add(s, STEP_READ_ALL, to, 0, 0);
}

void session_make_steps(struct session *s)
{
        const struct subject *f = s->subject;
        unsigned rounds = f->context->options->rounds, half = f->second == DRIVER_NONE ? rounds : (rounds + 1) / 2;

        assert(f->first != DRIVER_NONE || f->second == DRIVER_NONE);
        assert(f->second == DRIVER_NONE || f->first != f->second);
        if (f->driver != f->first)
                add(s, STEP_SWITCH, f->first, 0, 0);
        if (!f->hosts || f->lay_out)
                add(s, STEP_READ_ALL, f->first, 0, 0);
        add_block(s, f->first, 1, half);
        if (f->second != DRIVER_NONE) {
                add_switch(s, f->second);
                add_block(s, f->second, 1, rounds);
        }
        if (half < rounds) { /* a single round has no second half */
                add_switch(s, f->first);
                add_block(s, f->first, half + 1, rounds);
        }
}

/* available: bytes that can be used. */
uint64_t session_expected(const struct bench_pattern *p, uint64_t available)
{
        uint64_t limit = ((uint64_t) p->runtime_sec + p->ramp_sec) * USEC_PER_SEC, usec;
        bool alone = (p->sync_engine || p->iodepth <= 1) && p->numjobs <= 1;
        double bytes = (double) fio_region(p, available), sec = bytes / GUESS_BYTES, requests;

        if (p->time_based && p->runtime_sec > 0)
                return limit + RUN_MORE_USEC;
        if (p->random && p->block_size > 0) {
                requests = bytes / (double) p->block_size /
                           (p->read_percent < 100 ? GUESS_WRITES
                            : alone               ? GUESS_READS_ALONE
                                                  : GUESS_READS_QUEUED);
                sec = requests > sec ? requests : sec;
        }
        usec = (uint64_t) (sec * (double) USEC_PER_SEC) + (uint64_t) p->ramp_sec * USEC_PER_SEC;
        return (p->runtime_sec > 0 && usec > limit ? limit : usec) + RUN_MORE_USEC;
}

void session_plan(struct session *s)
{
        const struct bench_options *o = s->subject->context->options;
        const struct bench *b = s->bench;
        const uint64_t usec[_STEP_KIND_MAX] = {
                [STEP_SWITCH] = SWITCH_USEC,
                [STEP_READ_ALL] = run_region_once(s) / READ_RATE,
                [STEP_PAUSE] = o->pause_usec,
        };

        session_make_steps(s);
        for (struct step *i = s->steps; i < s->steps + s->n_steps; i++)
                i->usec = i->kind == STEP_RUN ? session_expected(&b->patterns[i->pattern], s->subject->available) : usec[i->kind];
}

/* ---- running them ---- */

/* Ends the half of a driver early. */
static void end_half(struct session *s, enum driver d, const char *what)
{
        struct bench_finding *f = &s->bench->finding;

        s->ended[d] = true;
        log_error("%s: %s. Its half ends here.", driver_to_string(d), what);
        if (f->found)
                return;
        f->found = true;
        f->driver = d;
        f->run = s->bench->n_runs > 0 ? (unsigned) s->bench->n_runs - 1 : 0;
        (void) copy_string(f->what, sizeof(f->what), what);
}

static void trouble(struct session *s)
{
        char seen[ERRORS_TEXT_MAX], what[ERRORS_TEXT_MAX + 400];

        (void) errors_look(&s->errors, true);
        (void) errors_text(&s->errors.seen, seen);
        if (s->subject->distrusted)
                (void) snprintf(what, sizeof(what), "%s%suasd has it as %s", seen, seen[0] ? "; " : "", s->subject->history);
        else
                (void) snprintf(what, sizeof(what), "%s", seen[0] ? seen : "I/O failed");
        end_half(s, s->subject->driver, what);
}

/* The disk is on its new driver, or still on the old one. */
static void arrive(struct session *s, enum driver d)
{
        const struct roots *roots = &s->subject->context->client.roots;
        struct subject *f = s->subject;

        f->driver = d;
        conditions_driver(roots, f->block, d, &s->bench->conditions);
        if (f->interface && errors_begin(&s->errors, roots, f->interface, f->block) < 0)
                log_info("Cannot watch the disk for errors.");
        f->distrusted = false;
}

int session_switch(struct session *s, enum driver to)
{
        struct subject *f = s->subject;
        enum driver from = f->driver;
        char what[320];
        int code;

        if (from == to)
                return UASD_EXIT_OK;
        if (lease_look(f) < 0)
                return run_lost(s);
        code = lease_switch(f, to);
        if (f->remounts && !f->remount.away && make_scratch(f) != UASD_EXIT_OK && code == UASD_EXIT_OK) {
                (void) copy_string(f->why, sizeof(f->why), "there is no new scratch file");
                code = UASD_EXIT_FAILED;
        }
        if (code == UASD_EXIT_OK) {
                arrive(s, to);
                log_info("Switched to %s.", driver_to_string(to));
                return code;
        }
        if (code != UASD_EXIT_ROLLED_BACK) {
                log_error("Cannot switch to %s: %s.", driver_to_string(to), f->why);
                return lease_look(f) < 0 ? run_lost(s) : code;
        }
        arrive(s, from);
        (void) snprintf(what, sizeof(what), "the switch to it was rolled back: %s", f->why);
        end_half(s, to, what);
        return UASD_EXIT_OK;
}

/* Sets s->what. */
static void describe(struct session *s, const struct step *step)
{
        const char *driver = step->driver == DRIVER_NONE ? "" : driver_to_string(step->driver);
        const char *const words[_STEP_KIND_MAX] = {
                [STEP_SWITCH] = "switching to ",
                [STEP_READ_ALL] = s->subject->lay_out ? "writing the scratch file" : "reading the region once",
                [STEP_RUN] = "",
                [STEP_PAUSE] = "pausing",
        };
        char round[32] = "warming up";

        if (step->round > 0)
                (void) snprintf(round, sizeof(round), "round %u of %u", step->round, s->subject->context->options->rounds);
        (void) snprintf(s->what, sizeof(s->what), "%s%s", words[step->kind],
                        step->kind == STEP_SWITCH || step->kind == STEP_RUN ? driver : "");
        if (step->kind == STEP_RUN)
                text_join(s->what, sizeof(s->what), "%s: %s", round, PATTERN_TEXT(s->bench, step->pattern));
}

/* Returns the exit status; OK: go on. */
static int do_step(struct session *s, const struct step *step)
{
        int k = run_signal() ? -EINTR : 0;

        if (k == 0 && step->kind == STEP_SWITCH)
                return session_switch(s, step->driver);
        if (k == 0)
                k = step->kind == STEP_READ_ALL ? run_read_all(s)
                    : step->kind == STEP_RUN    ? run_pattern(s, step)
                                                : run_pause(s, step->usec);
        if (k == -EIO)
                trouble(s);
        if (k >= 0 || k == -EIO)
                return UASD_EXIT_OK;
        if (k == -ENODEV || k == -EPIPE)
                return run_lost(s);
        if (k == -EINTR) {
                s->bench->interrupted = true;
                log_error("Interrupted.");
        }
        return UASD_EXIT_FAILED; /* other errors are reported */
}

void session_learn(struct session *s, uint64_t usec)
{
        const struct step *now = &s->steps[s->at];

        for (size_t i = s->at; i < s->n_steps && now->kind != STEP_PAUSE; i++)
                if (s->steps[i].kind == now->kind && s->steps[i].pattern == now->pattern)
                        s->steps[i].usec = usec;
}

int session_run(struct session *s)
{
        int code = UASD_EXIT_OK;

        arrive(s, s->subject->driver);
        s->started = now_boottime();
        for (s->at = session_next(s, 0); code == UASD_EXIT_OK && s->at < s->n_steps; s->at = session_next(s, s->at + 1)) {
                describe(s, &s->steps[s->at]);
                s->begin = now_boottime();
                run_show_progress(s);
                code = do_step(s, &s->steps[s->at]);
                session_learn(s, now_boottime() - s->begin);
        }
        progress_clear();
        /* A disk that fails under uas is not left there, even if it was there before. */
        if (s->bench->finding.found && s->subject->watch.remote && s->subject->driver == DRIVER_UAS && s->ended[DRIVER_UAS] &&
            session_switch(s, DRIVER_USB_STORAGE) != UASD_EXIT_OK)
                code = UASD_EXIT_FAILED;
        if (code == UASD_EXIT_OK && s->bench->finding.found)
                code = UASD_EXIT_ROLLED_BACK;
        return code;
}
