/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <systemd/sd-id128.h>

#include "bench/measure/fio.h"
#include "bench/measure/session.h"
#include "bench/tell/tell.h"
#include "client/client.h"
#include "common/log.h"
#include "common/util.h"
#include "sys/io/clock.h"
#include "term/terminal.h"

/* Longer than uasd needs to switch a free disk back. */
#define BACK_USEC (15 * USEC_PER_SEC)

/* fio knows more options than bench does. */
static int check_profile(const struct profile *p)
{
        _cleanup_free_ char *words = NULL;
        int k = fio_ask("--parse-only", p->text, &words);

        if (k >= 0)
                return UASD_EXIT_OK;
        bench_log_words(words);
        return log_failure(UASD_EXIT_FAILED, "fio rejects the profile '%s'%s%s", p->name, words ? "." : ": ",
                           words ? "" : strerror(-k));
}

/* ret_dropped: patterns that write were removed from it. */
static int load_profile(const struct bench_context *c, bool writes, struct profile **ret, bool *ret_dropped)
{
        const char *name = c->options->profile;
        char fault[PROFILE_FAULT_MAX];
        int k = profile_load(&c->client.roots, name, fault, ret);

        if (k >= 0) {
                *ret_dropped = !writes && profile_drop_writes(*ret) > 0;
                return check_profile(*ret);
        }
        if (k == -ENOENT) {
                _cleanup_strv_ char **names = profile_names(&c->client.roots);

                log_error("There is no profile '%s'. The profiles are:", name);
                for (char **i = names; i && *i; i++)
                        log_error("  %s", *i);
        } else if (k == -EINVAL)
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
        if (access(FIO_PROGRAM, X_OK) < 0)
                return log_failure(UASD_EXIT_TOOL_MISSING, "fio is not installed. Install the package fio.");
        if (fio_ask("--version", NULL, ret_version) < 0 || !*ret_version)
                return log_failure(UASD_EXIT_TOOL_MISSING, "Cannot read the version of " FIO_PROGRAM ".");
        return o->chart ? bench_chart_possible(o->chart) : UASD_EXIT_OK;
}

static int describe(const struct bench_context *c, const struct subject *f, const char *fio, struct bench *b)
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

static void tell_plan(const struct session *s)
{
        const struct subject *f = s->subject;
        const struct bench *b = s->bench;
        const char *guess = "";
        char time[RUN_TIME_MAX];
        size_t n_runs = 0;

        for (size_t i = 0; i < b->n_patterns; i++)
                if (!b->patterns[i].time_based)
                        guess = " on a hard disk. A run that ends with its region takes as long as the disk needs";
        (void) run_time_text(session_left(s, 0), time);
        for (size_t i = 0; i < s->n_steps; i++)
                n_runs += s->steps[i].kind == STEP_RUN;
        if (f->second != DRIVER_NONE)
                log_info("%s and %s: %zu runs of fio, about %s%s.", driver_to_string(f->first), driver_to_string(f->second),
                         n_runs, time, guess);
        else
                log_info("%zu runs of fio, about %s%s.", n_runs, time, guess);
        if (f->lay_out)
                log_info("A scratch file of %s is written before%s.", BYTES_TEXT(f->available),
                         f->remounts ? ", and after each switch" : "");
        if (f->remounts)
                log_info("'%s' is unmounted for each switch, and mounted again.", f->remount.target);
        if (f->second != DRIVER_NONE && f->context->options->rounds < VERDICT_ROUNDS)
                log_info("With fewer than %u rounds for each driver, any difference could be chance. There will be no verdict.",
                         VERDICT_ROUNDS);
        for (unsigned i = 0; i < b->n_patterns; i++)
                log_info("  %s: %s", b->patterns[i].name, PATTERN_TEXT(b, i));
}

/* Prints and stores the result, even if it is incomplete. */
static int tell(const struct bench_context *c, const struct bench *b, int code)
{
        int k;

        if (b->n_runs == 0)
                return code;
        if (!b->interrupted && (code == UASD_EXIT_OK || code == UASD_EXIT_ROLLED_BACK)) {
                k = bench_keep(&c->client.roots, b);
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
        struct subject *f = s->subject;
        int code;

        if (s->ended[DRIVER_UAS] && before == DRIVER_UAS) {
                lease_tell_kept_off(f);
                return UASD_EXIT_OK;
        }
        code = session_switch(s, before);
        if (code != UASD_EXIT_OK || overridden)
                return code;
        return request_call(&f->context->client, &f->remote,
                            &(struct remote_call){.method = "Switch", .disk = f->interface, .value = ""}, NULL);
}

/* After an interruption: where the disk is. When the lease has ended, uasd switches it back. */
static void tell_where(const struct session *s)
{
        const struct subject *f = s->subject;
        uint64_t deadline = now_boottime() + BACK_USEC;
        _cleanup_(remote_close) struct remote remote = {};
        _cleanup_(views_done) struct views views = {};
        const struct view *v;
        int code = source_connect(&f->context->client, &remote, &views);

        if (s->bench->n_runs == 0)
                log_info("Nothing was measured.");
        while (code == UASD_EXIT_OK) {
                v = views_find(&views, f->interface);
                if (!v)
                        return;
                if ((!state_is_pending(v->disk.state) && !v->disk.lease[0]) || now_boottime() >= deadline)
                        break;
                (void) usleep(100 * USEC_PER_MSEC);
                views_done(&views);
                code = remote_read(&remote, &views) < 0 ? UASD_EXIT_FAILED : UASD_EXIT_OK;
        }
        if (code == UASD_EXIT_OK && state_is_pending(v->disk.state))
                log_info("%s is on %s, and its state is %s.", VIEW_LABEL(v), view_driver(v) ?: "no driver",
                         state_to_string(v->disk.state));
        else if (code == UASD_EXIT_OK)
                log_info("%s is on %s.", VIEW_LABEL(v), view_driver(v) ?: "no driver");
}

/* All checks are done. From here on the disk or file is ours. */
static int measure(struct session *s)
{
        struct subject *f = s->subject;
        bool raw = !f->path, shared = f->hosts && f->lay_out, overridden = f->view && streq(f->view->reason_id, "override");
        int code = UASD_EXIT_OK, back = UASD_EXIT_OK;
        enum driver before = f->driver;
        char words[128];

        /* sd-bus goes on waiting for the lease after a signal. The disk stays where it is until the first switch. */
        (void) snprintf(words, sizeof(words), "Interrupted. Nothing was measured. %s stays on %s.", f->block,
                        driver_to_string(f->driver));
        if (raw)
                run_die_saying(words);
        else
                run_catch_signals();
        if (raw || f->remounts)
                code = bench_lease_begin(f);
        run_catch_signals();
        if (code == UASD_EXIT_OK && shared) {
                _cleanup_free_ char *directory = f->path;

                /* The id of the result is in the name, so the file cannot exist before. */
                if (asprintf(&f->path, "%s/uasctl-bench-%s", directory, s->bench->id) < 0)
                        no_memory();
        } else if (code == UASD_EXIT_OK && f->lay_out)
                code = make_scratch(f);
        if (code == UASD_EXIT_OK) {
                code = session_run(s);
                if (f->remounts)
                        back = go_back(s, before, overridden);
                if (shared && fio_remove(f->path, f->hosts) < 0)
                        log_error("Cannot remove the scratch file '%s' on %s. Remove it there.", f->path, f->hosts[0]);
        }
        lease_end(f);
        if (run_signal() && f->interface && (raw || f->remounts))
                tell_where(s);
        if (raw && s->ended[DRIVER_UAS] && before == DRIVER_UAS && code == UASD_EXIT_ROLLED_BACK)
                lease_keep_off_uas(f);
        return code == UASD_EXIT_OK ? back : code;
}

static void session_done(struct session *s)
{
        errors_end(&s->errors);
        free(s->steps);
}

int bench_measure(const struct bench_context *c, char *const *words)
{
        const struct bench_options *o = c->options;
        _cleanup_(subject_done) struct subject f = SUBJECT_NULL;
        _cleanup_(profile_freep) struct profile *profile = NULL;
        _cleanup_(bench_done) struct bench b = {};
        _cleanup_(session_done) struct session s = {.subject = &f, .bench = &b, .errors = ERRORS_NULL};
        _cleanup_free_ char *fio = NULL;
        size_t n_hosts = 0;
        bool dropped = false;
        int code;

        f.context = c;
        code = find_tools(o, &fio);
        if (code == UASD_EXIT_OK)
                code = load_profile(c, o->write || o->destroy_data, &profile, &dropped);
        if (code == UASD_EXIT_OK)
                code = o->remount ? find_mounted(&f, words[0]) : o->file ? find_file(&f, words[0]) : find_disk(&f, words[0]);
        if (code != UASD_EXIT_OK)
                return code;
        size_scratch(&f, profile);
        if (o->size && o->size < f.available)
                f.available = o->size;
        while (f.hosts && f.hosts[n_hosts])
                n_hosts++;
        code = patterns_make(profile, o, f.available, n_hosts, &b);
        if (code != UASD_EXIT_OK)
                return code;
        if (dropped)
                log_info("Patterns that write are left out. --write or --destroy-data permits them.");
        if (describe(c, &f, fio, &b) < 0)
                return log_failure(UASD_EXIT_FAILED, "Cannot make an id for the result.");
        b.single = f.second == DRIVER_NONE;
        session_plan(&s);
        tell_plan(&s);
        if (o->dry_run)
                return UASD_EXIT_OK;
        if (o->destroy_data && !ask_destroy(&f))
                return UASD_EXIT_REFUSED;
        return tell(c, &b, measure(&s));
}
