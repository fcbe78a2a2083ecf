/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/measure/session.h"

#include <assert.h>
#include <fcntl.h>
#include <signal.h>

#include "bench/measure/fio.h"
#include "common/log.h"
#include "common/util.h"
#include "sys/io/clock.h"
#include "term/terminal.h"

#define LOOK_USEC (1 * USEC_PER_SEC)
/* The I/O of an unplugged disk fails before the disconnect is reported. */
#define GONE_USEC (3 * USEC_PER_SEC)
/* A longer first read would take more time than it helps. */
#define READ_ONCE_MAX (16ULL << 30)
#define PATH_ROOM 64
/* The places are the same under both drivers, and different in every round. */
#define SEED_OF(pattern, round) (1000003ULL * ((pattern) + 1) + (round))

static volatile sig_atomic_t caught;

static void on_signal(int which)
{
        caught = which;
}

static void catch_all(const struct sigaction *a)
{
        static const int which[] = {SIGINT, SIGTERM, SIGHUP};

        caught = 0;
        for (size_t i = 0; i < ELEMENTSOF(which); i++)
                (void) sigaction(which[i], a, NULL);
}

void run_catch_signals(void)
{
        catch_all(&(struct sigaction){.sa_handler = on_signal}); /* no SA_RESTART: a wait ends */
}

static char last_words[256];

static void on_early_signal(int which)
{
        ssize_t n = write(STDERR_FILENO, last_words, strlen(last_words));

        (void) n;
        (void) raise(which);
}

void run_die_saying(const char *words)
{
        (void) snprintf(last_words, sizeof(last_words), "uasctl: %s\n", words);
        /* Without the mask and the handler, the second one is the death. */
        catch_all(&(struct sigaction){.sa_handler = on_early_signal, .sa_flags = (int) (SA_RESETHAND | SA_NODEFER)});
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

size_t session_next(const struct session *s, size_t at)
{
        while (at < s->n_steps && s->ended[s->steps[at].driver])
                at++;
        return at;
}

uint64_t session_left(const struct session *s, size_t at)
{
        uint64_t sum = 0;

        for (size_t i = session_next(s, at); i < s->n_steps; i = session_next(s, i + 1))
                sum += s->steps[i].usec;
        return sum;
}

unsigned session_percent(struct session *s, uint64_t done, uint64_t rest)
{
        unsigned percent = (unsigned) (done * 100 / ((done + rest) ?: 1));

        if (percent > s->percent)
                s->percent = percent;
        return s->percent;
}

void run_show_progress(struct session *s)
{
        char line[sizeof(s->what) + 64], left[RUN_TIME_MAX];
        uint64_t usec = now_boottime() - s->begin, expected = s->steps[s->at].usec;
        uint64_t within = usec < expected ? usec : expected, done = s->begin - s->started + within;
        uint64_t rest = session_left(s, s->at) - within;

        (void) snprintf(line, sizeof(line), "%3u %%  %s left  %s", session_percent(s, done, rest), run_time_text(rest, left),
                        s->what);
        progress_line(line);
}

/* Returns 0, or the error that ends the session. */
static int look(struct session *s, bool io_failed)
{
        int k;

        s->looked = now_boottime();
        if (!subject_is_there(s->subject))
                return -ENODEV;
        k = lease_look(s->subject);
        if (k < 0)
                return k;
        return errors_look(&s->errors, io_failed) || s->subject->distrusted ? -EIO : 0;
}

/* Callback for fio and for pauses: shows the progress and checks the disk. Negative: end the run; s->stop has the reason. */
static int tick(void *userdata)
{
        struct session *s = userdata;

        if (s->stop < 0) /* after the decision to stop, the disk is not checked again */
                return s->stop;
        run_show_progress(s);
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
                if (tick(s) < 0)
                        return s->stop;
                (void) usleep(100 * USEC_PER_MSEC);
        }
        return 0;
}

void bench_log_words(char *words)
{
        for (char *line; (line = strsep(&words, "\n"));)
                if (*line)
                        log_error("fio: %s", line);
}

/* fio ended with an error. Finds out whether the disk caused it. */
static int ended(struct session *s, int error, char *words)
{
        uint64_t deadline = now_boottime() + GONE_USEC;
        int k;

        if (s->stop < 0 || run_signal())
                return s->stop < 0 ? s->stop : -EINTR;
        do {
                k = look(s, true);
                if (k == -ENODEV || k == -EPIPE)
                        return k;
                (void) usleep(200 * USEC_PER_MSEC);
        } while (now_boottime() < deadline);
        if (k < 0)
                return k;
        bench_log_words(words);
        return log_failure(-ECANCELED, "fio failed: %s", strerror(-error));
}

/* The disk was checked up to a second ago, and nothing but the lease keeps other programs from mounting it. */
static bool owns(int node, void *userdata)
{
        struct session *s = userdata;

        return lease_look(s->subject) >= 0 && subject_owns(s->subject, node);
}

/* A job of all runs, in its first part. `path` has room for the name of the raw disk. */
static struct fio_job job_of(struct session *s, const struct bench_pattern *p, char path[static PATH_ROOM])
{
        const struct subject *f = s->subject;

        /* By the descriptor, which also works for a machine in a folder. */
        (void) snprintf(path, PATH_ROOM, "/proc/self/fd/%i/%s", f->context->client.roots.dev, f->block);
        s->stop = 0;
        return (struct fio_job){.pattern = p,
                                .path = f->path ?: path,
                                .region = f->available,
                                .hosts = f->hosts,
                                .tick = tick,
                                .owns = f->path ? NULL : owns,
                                .userdata = s};
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
        char path[PATH_ROOM];
        struct fio_job job = job_of(s, &s->bench->patterns[0], path);
        int k;

        job.region = run_region_once(s);
        job.writes = s->subject->lay_out;
        assert(!job.writes || s->subject->path); /* an empty scratch file, never the disk */
        k = fio_prepare(&job, &words);
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
        if (faccessat(roots->proc, "self/io", F_OK, 0) < 0) /* this kernel does not count the I/O of a process */
                ret->device_read_bytes = ret->device_written_bytes = -1;
        traffic_tell(&before, &after, job->pattern, now_boottime() - begin, ret);
        return 0;
}

int run_pattern(struct session *s, const struct step *step)
{
        _cleanup_free_ char *words = NULL;
        struct bench *b = s->bench;
        const struct bench_pattern *p = &b->patterns[step->pattern];
        char path[PATH_ROOM];
        struct fio_job job = job_of(s, p, path);
        size_t before = b->n_runs, n = b->axis == BENCH_AXIS_CLIENTS ? (size_t) p->axis + 1 : 1;
        unsigned order = before > 0 ? b->runs[before - 1].order + 1 : 0;
        struct bench_run *runs, failed = {.started_usec = now_realtime(),
                                          .error = -EIO,
                                          .other_bytes_per_sec = -1,
                                          .device_read_bytes = -1,
                                          .device_written_bytes = -1};
        int k;

        assert(step->pattern < b->n_patterns);
        job.seed = SEED_OF(step->pattern, step->round);
        job.writes = s->subject->writes && bench_pattern_writes(p);
        job.n_hosts = n - 1;
        assert(!job.writes || s->subject->context->options->write ||
               s->subject->context->options->destroy_data); /* without permission nothing is written */
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
        if (!subject_is_there(s->subject) || lease_look(s->subject) == -ENODEV)
                return log_failure(UASD_EXIT_NO_DISK, "The disk was unplugged.");
        return log_failure(UASD_EXIT_FAILED, "uasd ended the lease: another program took the disk, or uasd was stopped.");
}
