/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/measure/session.h"

#include <assert.h>
#include <fcntl.h>
#include <signal.h>
#include <time.h>

#include "bench/measure/fio.h"
#include "common/log.h"
#include "common/names.h"
#include "common/util.h"
#include "sys/io/clock.h"
#include "term/program.h"
#include "term/terminal.h"

#define RENEW_USEC (250 * USEC_PER_MSEC)
#define LOOK_USEC (1 * USEC_PER_SEC)
/* The I/O of an unplugged disk fails before the disconnect is reported. */
#define GONE_USEC (3 * USEC_PER_SEC)
/* A longer first read would take more time than it helps. */
#define READ_ONCE_MAX (16ULL << 30)
/* The places are the same under both drivers, and different in every round. */
#define SEED_OF(pattern, round) (1000003ULL * ((pattern) + 1) + (round))

static volatile sig_atomic_t caught;

static void on_signal(int which)
{
        caught = which;
}

void run_catch_signals(void)
{
        static const int which[] = {SIGINT, SIGTERM, SIGHUP};
        struct sigaction a = {.sa_handler = on_signal}; /* no SA_RESTART: a wait ends */

        caught = 0;
        for (size_t i = 0; i < ELEMENTSOF(which); i++)
                (void) sigaction(which[i], &a, NULL);
}

int run_signal(void)
{
        return caught;
}

char *run_time_text(uint64_t usec, char ret[static RUN_TIME_MAX])
{
        uint64_t sec = (usec + USEC_PER_SEC - 1) / USEC_PER_SEC;

        if (sec < 60)
                (void) snprintf(ret, RUN_TIME_MAX, "%u s", (unsigned) sec);
        else if (sec < 3600)
                (void) snprintf(ret, RUN_TIME_MAX, "%u min", (unsigned) ((sec + 59) / 60));
        else
                (void) snprintf(ret, RUN_TIME_MAX, "%u h %u min", (unsigned) (sec / 3600), (unsigned) (sec % 3600 / 60));
        return ret;
}

/* Within the step; at most four times a second. */
static void show_progress(struct session *s)
{
        char line[sizeof(s->what) + 64], left[RUN_TIME_MAX];
        uint64_t now = now_boottime(), within = now - s->begin,
                 done = s->done_usec + (within < s->step_usec ? within : s->step_usec);

        if (s->drawn && now - s->drawn < RENEW_USEC)
                return;
        s->drawn = now;
        if (done > s->total_usec)
                done = s->total_usec;
        (void) snprintf(line, sizeof(line), "%3u %%  %s left  %s", s->total_usec ? (unsigned) (done * 100 / s->total_usec) : 0,
                        run_time_text(s->total_usec - done, left), s->what);
        progress_line(line);
}

void run_progress_begin(struct session *s, uint64_t done_usec, uint64_t step_usec, uint64_t total_usec)
{
        s->begin = now_boottime();
        s->drawn = 0;
        s->done_usec = done_usec;
        s->step_usec = step_usec;
        s->total_usec = total_usec;
        show_progress(s);
}

static bool is_there(const struct session *s)
{
        char path[sizeof(SYSFS_USB_DEVICES) + INTERFACE_NAME_MAX];

        if (!s->subject->interface)
                return true;
        (void) snprintf(path, sizeof(path), SYSFS_USB_DEVICES "/%s", s->subject->interface);
        return faccessat(s->subject->context->client.roots.sys, path, F_OK, 0) == 0;
}

/* Returns 0, or the error that ends the session. */
static int look(struct session *s, bool io_failed)
{
        int k;

        s->looked = now_boottime();
        if (!is_there(s))
                return -ENODEV;
        k = lease_look(s->subject);
        if (k < 0)
                return k;
        return errors_look(&s->errors, io_failed) || s->subject->distrusted ? -EIO : 0;
}

int run_tick(void *userdata)
{
        struct session *s = userdata;

        if (s->stop < 0) /* after the decision to stop, the disk is not checked again */
                return s->stop;
        show_progress(s);
        if (run_signal())
                s->stop = -EINTR;
        else if (now_boottime() >= s->looked + LOOK_USEC)
                s->stop = look(s, false);
        return s->stop;
}

int run_pause(struct session *s, uint64_t usec)
{
        uint64_t begin = now_boottime();

        s->stop = 0;
        while (now_boottime() < begin + usec) {
                if (run_tick(s) < 0)
                        return s->stop;
                (void) nanosleep(&(struct timespec){.tv_nsec = 100 * 1000 * 1000}, NULL);
        }
        return 0;
}

/* fio ended with an error. Returns whether the disk caused it. */
static int why_failed(struct session *s)
{
        uint64_t deadline = now_boottime() + GONE_USEC;
        int k;

        if (run_signal())
                return -EINTR;
        do {
                k = look(s, true);
                if (k == -ENODEV || k == -EPIPE)
                        return k;
                (void) nanosleep(&(struct timespec){.tv_nsec = 200 * 1000 * 1000}, NULL);
        } while (now_boottime() < deadline);
        return k;
}

void bench_log_words(const char *words)
{
        for (const char *line = words; *line;) {
                size_t n = strcspn(line, "\n");

                if (n > 0)
                        log_error("fio: %.*s", (int) n, line);
                line += n + (line[n] == '\n');
        }
}

static int ended(struct session *s, int error, const char *words)
{
        int k;

        if (s->stop < 0)
                return s->stop;
        k = why_failed(s);
        if (k < 0)
                return k;
        if (words)
                bench_log_words(words);
        return log_failure(-ECANCELED, "fio failed: %s", strerror(-error));
}

static const char *path_of(const struct session *s, char *ret, size_t size)
{
        if (s->subject->path)
                return s->subject->path;
        /* By the descriptor, which also works for a machine in a folder. */
        (void) snprintf(ret, size, "/proc/self/fd/%i/%s", s->subject->context->client.roots.dev, s->subject->block);
        return ret;
}

uint64_t run_region_once(const struct session *s)
{
        uint64_t largest = 0, all = s->subject->available;

        if (s->subject->lay_out)
                return all;
        for (size_t i = 0; i < s->bench->n_patterns; i++) {
                uint64_t region = fio_region(&s->bench->patterns[i], all);

                largest = region > largest ? region : largest;
        }
        return largest < READ_ONCE_MAX ? largest : READ_ONCE_MAX;
}

int run_read_all(struct session *s)
{
        _cleanup_free_ char *words = NULL;
        char path[64];
        struct fio_job job = {
                .pattern = &s->bench->patterns[0],
                .path = path_of(s, path, sizeof(path)),
                .region = run_region_once(s),
                .hosts = s->subject->hosts,
                .tick = run_tick,
                .userdata = s,
        };
        int k;

        s->stop = 0;
        k = s->subject->lay_out ? fio_lay_out(&job, &words) : fio_read_once(&job, &words);
        return k < 0 || run_signal() ? ended(s, k, words) : 0;
}

static int run_fio(struct session *s, const struct fio_job *job, struct bench_run *ret, char **ret_words)
{
        const struct roots *roots = &s->subject->context->client.roots;
        struct traffic before, after;
        uint64_t begin;
        int k;

        traffic_read(roots, s->subject->interface, s->subject->block, &before);
        begin = now_boottime();
        k = fio_run(job, ret, ret_words);
        if (k < 0)
                return k;
        traffic_read(roots, s->subject->interface, s->subject->block, &after);
        if (!traffic_is_counted(roots))
                ret->device_read_bytes = ret->device_written_bytes = -1;
        traffic_tell(&before, &after, job->pattern, now_boottime() - begin, ret);
        return 0;
}

int run_pattern(struct session *s, const struct step *step)
{
        _cleanup_free_ char *words = NULL;
        const struct bench_pattern *p = &s->bench->patterns[step->pattern];
        char path[64];
        struct fio_job job = {
                .pattern = p,
                .path = path_of(s, path, sizeof(path)),
                .region = s->subject->available,
                .seed = SEED_OF(step->pattern, step->round),
                .writes = s->subject->writes && bench_pattern_writes(p),
                .hosts = s->subject->hosts,
                .n_hosts = s->bench->axis == BENCH_AXIS_CLIENTS ? (size_t) p->axis : 0,
                .tick = run_tick,
                .userdata = s,
        };
        struct bench *b = s->bench;
        size_t before = b->n_runs, n = job.n_hosts + 1;
        unsigned order = before > 0 ? b->runs[before - 1].order + 1 : 0;
        struct bench_run *runs, failed = {.started_usec = now_realtime(),
                                          .error = -EIO,
                                          .other_bytes_per_sec = -1,
                                          .device_read_bytes = -1,
                                          .device_written_bytes = -1};
        int k;

        assert(step->pattern < b->n_patterns);
        assert(!job.writes || s->subject->context->options->write ||
               s->subject->context->options->destroy_data); /* without permission nothing is written */
        s->stop = 0;
        b->runs = need(reallocarray(b->runs, before + n, sizeof(*b->runs)));
        runs = b->runs + before;
        k = run_fio(s, &job, runs, &words);
        if (k >= 0 && run_signal()) /* fio was signalled, too, and ended early */
                return -EINTR;
        if (k >= 0) {
                b->n_runs += n;
                if (runs->error)
                        k = ended(s, runs->error, words);
        } else {
                k = ended(s, k, words);
                *runs = failed; /* it does not count, but the result can refer to it */
                b->n_runs += k == -EIO;
        }
        for (struct bench_run *r = runs; r < b->runs + b->n_runs; r++) {
                r->pattern = step->pattern;
                r->driver = s->subject->driver;
                r->round = step->round;
                r->order = order;
        }
        return k < 0 ? k : look(s, false); /* events at the very end of the run */
}

int run_lost(struct session *s)
{
        s->bench->interrupted = true;
        if (!is_there(s) || lease_look(s->subject) == -ENODEV)
                return log_failure(UASD_EXIT_NO_DISK, "The disk was unplugged.");
        return log_failure(UASD_EXIT_FAILED, "uasd ended the lease: another program took the disk, or uasd was stopped.");
}
