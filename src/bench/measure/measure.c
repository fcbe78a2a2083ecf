/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <systemd/sd-id128.h>

#include "bench/context.h"
#include "bench/measure/conditions.h"
#include "bench/measure/fio.h"
#include "bench/measure/run.h"
#include "bench/measure/subject.h"
#include "bench/tell/chart.h"
#include "bench/tell/kept.h"
#include "bench/tell/units.h"
#include "bench/tell/verdict.h"
#include "client/client.h"
#include "common/log.h"
#include "common/util.h"
#include "sys/io/clock.h"
#include "term/program.h"

#define PROFILE_DEFAULT "cdm"

static void tell_profiles(const struct bench_context *c, const char *name)
{
        char **names = profile_names(&c->client.roots);

        log_error("There is no profile '%s'. The profiles are:", name);
        for (char **i = names; *i; i++)
                log_error("  %s", *i);
        strv_free(names);
}

/* fio knows more options than bench does. */
static int check_profile(const struct profile *p)
{
        _cleanup_free_ char *words = NULL;
        int k = fio_check(p->text, &words);

        if (k >= 0)
                return UASD_EXIT_OK;
        if (words)
                bench_log_words(words);
        log_error("fio rejects the profile '%s'%s%s", p->name, words ? "." : ": ", words ? "" : strerror(-k));
        return UASD_EXIT_FAILED;
}

/* ret_dropped: patterns that write were removed from it. */
static int load_profile(const struct bench_context *c, bool writes, struct profile **ret, bool *ret_dropped)
{
        const char *name = c->options->profile ?: PROFILE_DEFAULT;
        char fault[PROFILE_FAULT_MAX];
        int k = profile_load(&c->client.roots, name, fault, ret);

        if (k >= 0) {
                *ret_dropped = !writes && profile_drop_writes(*ret) > 0;
                return check_profile(*ret);
        }
        if (k == -ENOENT)
                tell_profiles(c, name);
        else if (k == -EINVAL)
                log_error("'%s' is not a valid name of a profile.", name);
        else if (k == -EBADMSG)
                log_error("%s", fault);
        else
                log_error("Cannot read the profile '%s': %s", name, strerror(-k));
        return k == -ENOENT || k == -EINVAL ? UASD_EXIT_USAGE : UASD_EXIT_FAILED;
}

/* Looks for the programs that are needed, before any wait. */
static int find_tools(const struct bench_options *o, char **ret_version)
{
        const char *program;

        if (fio_find(&program) < 0) {
                log_error("fio is not installed. Install the package fio.");
                return UASD_EXIT_TOOL_MISSING;
        }
        if (fio_version(ret_version) < 0) {
                log_error("Cannot read the version of %s.", program);
                return UASD_EXIT_TOOL_MISSING;
        }
        return o->chart ? bench_chart_possible(o->chart) : UASD_EXIT_OK;
}

static int describe(const struct bench_context *c, const struct found *f, const char *fio, struct bench *b)
{
        sd_id128_t id;
        int k;

        b->started_usec = now_realtime();
        k = sd_id128_randomize(&id);
        if (k < 0)
                return k;
        (void) snprintf(b->id, sizeof(b->id), SD_ID128_UUID_FORMAT_STR, SD_ID128_FORMAT_VAL(id));
        (void) copy_string(b->conditions.fio, sizeof(b->conditions.fio), fio);
        (void) copy_string(b->conditions.path, sizeof(b->conditions.path), c->options->file ?: "");
        conditions_machine(&c->client.roots, &b->conditions);
        if (f->view)
                conditions_disk(&c->client.roots, f->view, f->lun, &b->conditions);
        return 0;
}

/* Whether the durations are known in advance. */
static bool by_the_clock(const struct bench *b)
{
        for (size_t i = 0; i < b->n_patterns; i++)
                if (!b->patterns[i].time_based || !b->patterns[i].runtime_sec)
                        return false;
        return true;
}

static void tell_plan(const struct session *s, const struct found *f, size_t n_runs, uint64_t usec)
{
        const char *guess = by_the_clock(s->bench) || s->options->runtime_sec
                                    ? ""
                                    : " on a hard disk. A run that ends with its region takes as long as the disk needs";
        char time[PROGRESS_TIME_MAX], size[UNIT_TEXT_MAX], pattern[PATTERN_TEXT_MAX];

        if (f->second != DRIVER_NONE)
                log_info("%s and %s: %zu runs of fio, about %s%s.", driver_to_string(f->first), driver_to_string(f->second),
                         n_runs, bench_progress_time(usec, time), guess);
        else
                log_info("%zu runs of fio, about %s%s.", n_runs, bench_progress_time(usec, time), guess);
        if (f->subject.lay_out)
                log_info("A scratch file of %s is written before%s.", bytes_text(f->subject.available, size),
                         f->subject.remount ? ", and after each switch" : "");
        if (f->subject.remount)
                log_info("'%s' is unmounted for each switch, and mounted again.", f->remount.target);
        if (f->second != DRIVER_NONE && session_rounds(s) < verdict_rounds_needed())
                log_info("With fewer than %zu rounds for each driver, any difference could be chance. There will be no verdict.",
                         verdict_rounds_needed());
        for (size_t i = 0; i < s->bench->n_patterns; i++)
                log_info("  %s: %s", s->bench->patterns[i].name, pattern_text(s->bench, (unsigned) i, pattern));
}

/* Prints and stores the result, even if it is incomplete. */
static int tell(const struct bench_context *c, const struct bench *b, int code)
{
        int k;

        if (b->n_runs == 0)
                return code;
        if (!b->interrupted && (code == UASD_EXIT_OK || code == UASD_EXIT_ROLLED_BACK)) {
                k = bench_keep(&c->client.roots, b, NULL);
                if (k < 0)
                        log_info("Cannot store the result: %s", strerror(-k));
        } else
                log_info("The measurement is not complete, so its result is not stored:");
        k = bench_tell_as_asked(c, b);
        return code == UASD_EXIT_OK ? k : code;
}

/* Both switches of --remount are overrides, which would outlive the measurement. */
static int go_back(struct session *s, enum driver before, bool overridden)
{
        struct bench_lease *l = s->subject->lease;
        int code;

        if (s->ended[DRIVER_UAS] && before == DRIVER_UAS) {
                log_info(
                        "The disk failed under uas, so it stays on usb-storage until it is unplugged. 'uasctl switch %s' ends that.",
                        l->interface);
                return UASD_EXIT_OK;
        }
        code = session_switch(s, before);
        if (code != UASD_EXIT_OK || overridden)
                return code;
        return request_call(&s->context->client, l->remote,
                            &(struct remote_call){.method = "Switch", .disk = l->interface, .value = ""}, NULL);
}

static int measure_mounted(const struct bench_context *c, struct found *f, struct session *s, const struct step *steps,
                           size_t n_steps)
{
        bool overridden = streq(f->view->reason_id, "override");
        enum driver before = f->subject.driver;
        struct bench_lease lease = LEASE_NULL;
        int code = lease_watch(c, &f->remote, f->view, f->lun, &lease), back = UASD_EXIT_OK;

        if (code == UASD_EXIT_OK)
                code = remount_try(&f->remount, lease.block);
        if (code == UASD_EXIT_OK)
                code = make_scratch(c, &f->subject);
        if (code == UASD_EXIT_OK) {
                f->subject.lease = &lease;
                code = session_run(s, steps, n_steps);
                back = go_back(s, before, overridden);
                f->subject.lease = NULL;
        }
        lease_end(&lease);
        return code == UASD_EXIT_OK ? back : code;
}

/* The file has the id of the result as its name, so it cannot exist before. */
static int measure_shared(struct found *f, struct session *s, const struct step *steps, size_t n_steps)
{
        struct subject *subject = &f->subject;
        char *path = NULL;
        int code;

        if (asprintf(&path, "%s/uasctl-bench-%s", subject->path, s->bench->id) < 0)
                no_memory();
        free(subject->path);
        subject->path = path;
        code = session_run(s, steps, n_steps);
        if (fio_remove(subject->path, subject->hosts) < 0)
                log_error("Cannot remove the scratch file '%s' on %s. Remove it there.", subject->path, subject->hosts[0]);
        return code;
}

/* All checks are done. From here on the disk or file is ours. */
static int measure(const struct bench_context *c, struct found *f, struct session *s, const struct step *steps, size_t n_steps)
{
        enum driver before = f->subject.driver;
        struct bench_lease lease = LEASE_NULL;
        int code;

        run_catch_signals();
        if (f->subject.remount)
                return measure_mounted(c, f, s, steps, n_steps);
        if (f->subject.hosts && f->subject.lay_out)
                return measure_shared(f, s, steps, n_steps);
        if (f->subject.path) {
                code = f->subject.lay_out ? make_scratch(c, &f->subject) : UASD_EXIT_OK;
                return code == UASD_EXIT_OK ? session_run(s, steps, n_steps) : code;
        }
        code = lease_take(c, &f->remote, f->view, f->lun, &lease);
        if (code == UASD_EXIT_OK) {
                f->subject.lease = &lease;
                code = session_run(s, steps, n_steps);
                f->subject.lease = NULL;
        }
        lease_end(&lease);
        if (s->ended[DRIVER_UAS] && before == DRIVER_UAS && code == UASD_EXIT_ROLLED_BACK)
                lease_keep_off_uas(c, f->subject.interface);
        return code;
}

static int run(const struct bench_context *c, struct found *f, const struct asked *asked, struct bench *b)
{
        struct session s = {
                .context = c, .options = c->options, .subject = &f->subject, .asked = asked, .bench = b, .errors = ERRORS_NULL};
        size_t n_steps, n_runs = 0;
        _cleanup_free_ struct step *steps = session_plan(&s, f->first, f->second, &n_steps);
        int code = UASD_EXIT_OK;

        for (size_t i = 0; i < n_steps; i++)
                n_runs += steps[i].kind == STEP_RUN;
        tell_plan(&s, f, n_runs, session_usec(&s, steps, n_steps, 0));
        if (!(c->options->dry_run)) {
                if (c->options->destroy_data && !ask_destroy(f->view))
                        code = UASD_EXIT_REFUSED;
                else
                        code = tell(c, b, measure(c, f, &s, steps, n_steps));
        }
        session_done(&s);
        return code;
}

int bench_measure(const struct bench_context *c, const char *what)
{
        const struct bench_options *o = c->options;
        _cleanup_(found_done) struct found f = FOUND_NULL;
        _cleanup_(profile_freep) struct profile *profile = NULL;
        _cleanup_free_ struct asked *asked = NULL;
        _cleanup_(bench_done) struct bench b = {};
        _cleanup_free_ char *fio = NULL;
        size_t n_hosts = 0;
        bool dropped = false;
        int code;

        code = find_tools(o, &fio);
        if (code == UASD_EXIT_OK)
                code = load_profile(c, o->write || o->destroy_data, &profile, &dropped);
        if (code == UASD_EXIT_OK)
                code = o->remount ? find_mounted(c, what, &f) : o->file ? find_file(c, what, &f) : find_disk(c, what, &f);
        if (code != UASD_EXIT_OK)
                return code;
        size_scratch(o, profile, &f);
        while (f.subject.hosts && f.subject.hosts[n_hosts])
                n_hosts++;
        code = patterns_make(profile, o, o->size && o->size < f.subject.available ? o->size : f.subject.available, n_hosts, &b,
                             &asked);
        if (code != UASD_EXIT_OK)
                return code;
        if (dropped)
                log_info("Patterns that write are left out. --write or --destroy-data permits them.");
        if (describe(c, &f, fio, &b) < 0) {
                log_error("Cannot make an id for the result.");
                return UASD_EXIT_FAILED;
        }
        b.single = f.second == DRIVER_NONE;
        return run(c, &f, asked, &b);
}
