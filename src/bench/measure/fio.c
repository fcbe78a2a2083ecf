/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/measure/fio.h"

#include <assert.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "common/util.h"
#include "sys/io/clock.h"
#include "term/program.h"

#define ONCE_BLOCK (1U << 20)
#define REMOVE_USEC (60 * USEC_PER_SEC)
#define WORDS_LENGTH_MAX 2000

/* Options that fill a file. A file system reads zeros, and blocks that were never written, without the disk. */
#define LAY_OUT "ioengine=psync\nbs=1m\nrefill_buffers=1\nend_fsync=1\n"

/* fio's error texts, limited in length, without blanks at the ends; NULL: none. Depending on the version, fio prints errors to
 * either stream. The first one is the cause. */
static char *words_of(const struct fio_result *r)
{
        const char *json = r->output[0] == '{' ? r->output : strstr(r->output, "\n{");
        size_t n = json ? (size_t) (json - r->output) : strlen(r->output);
        _cleanup_free_ char *all = NULL;
        const char *from;

        if (asprintf(&all, "%.*s\n%.*s", WORDS_LENGTH_MAX, r->errors, (int) (n < WORDS_LENGTH_MAX ? n : WORDS_LENGTH_MAX),
                     r->output) < 0)
                return NULL;
        from = all + strspn(all, " \t\r\n");
        n = strlen(from);
        while (n > 0 && strchr(" \t\r\n", from[n - 1]))
                n--;
        return n > 0 ? strndup(from, n) : NULL;
}

int fio_version(char **ret)
{
        _cleanup_(fio_result_done) struct fio_result result = {};
        int r = fio_execute(&(struct fio_call){.options = {"--version"}, .target = -1}, NULL, NULL, &result);

        if (r < 0)
                return r;
        *ret = words_of(&result);
        return *ret ? 0 : -EIO;
}

int fio_check(char *text, char **ret_why)
{
        const struct fio_call call = {.options = {"--parse-only"}, .jobs = (char *[]){text, NULL}, .target = -1};
        _cleanup_(fio_result_done) struct fio_result result = {};
        int r;

        *ret_why = NULL;
        r = fio_execute(&call, NULL, NULL, &result);
        if (r < 0 || result.status == 0)
                return r;
        *ret_why = words_of(&result);
        return -EBADMSG;
}

/* Opened once, so that every run of a job uses the same disk, even if its name changes. */
static int open_target(const struct fio_job *job, uint64_t *ret_available)
{
        _cleanup_close_ int fd = open(job->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        uint64_t size;
        struct stat st;

        if (fd < 0)
                return -errno;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (S_ISREG(st.st_mode))
                size = (uint64_t) st.st_size;
        else if (!S_ISBLK(st.st_mode))
                return -ENODEV;
        else if (ioctl(fd, BLKGETSIZE64, &size) < 0)
                return -errno;
        if (job->offset >= size)
                return -ENOSPC;
        size -= job->offset;
        *ret_available = job->region && job->region < size ? job->region : size;
        return TAKE_FD(fd);
}

/* A colon would separate two names. Free it. */
static char *escape_path(const char *path)
{
        char *out = need(calloc(2, strlen(path) + 1)), *at = out;

        for (const char *p = path; *p; p++) {
                if (*p == ':')
                        *at++ = '\\';
                *at++ = *p;
        }
        return out;
}

/* One job file for each machine, each with its own region. */
static int execute(const struct fio_job *job, int target, uint64_t each, spawn_tick_t tick, void *userdata,
                   struct fio_result *ret)
{
        struct fio_call call = {job->program, {"--output-format=json"}, .hosts = job->n_hosts > 0 ? job->hosts : NULL, target};
        _cleanup_free_ char *path =
                job->n_hosts > 0 ? escape_path(job->path) : need(strdup(fio_fd_path(target, (char[FIO_FD_MAX]){})));
        char *jobs[FIO_JOBS_MAX + 1] = {};
        struct fio_job own = *job;
        int r;

        assert(job->writes || !bench_pattern_writes(job->pattern));
        if (job->n_hosts == 0 && !job->writes)
                call.options[1] = "--readonly";
        for (size_t i = 0; i < (job->n_hosts ?: 1); i++) {
                jobs[i] = fio_job_text(&own, path, each);
                own.offset += each * job->pattern->numjobs;
                own.seed++;
        }
        call.jobs = jobs;
        r = fio_execute(&call, tick, userdata, ret);
        for (char **i = jobs; *i; i++)
                free(*i);
        return r;
}

/* fio's counts make the result. Without them its error text is the reason. */
static int understand(const struct fio_job *job, const struct fio_result *result, struct bench_run *ret)
{
        const struct bench_pattern *p = job->pattern;
        unsigned depth = p->sync_engine ? 1 : p->iodepth;
        bool ended = WIFEXITED(result->status), failed = !ended || WEXITSTATUS(result->status) != 0;
        int r;

        if (job->n_hosts > 0) {
                r = fio_parse_hosts(result->output, p->numjobs, depth, ret, job->n_hosts + 1);
                /* If a server does not answer, fio goes on with the others and reports success. Without any server it ends. */
                if (r != (int) job->n_hosts + 1)
                        return r >= 0 || (ended && failed) ? -ECONNREFUSED : -EIO;
                return 0;
        }
        if (fio_parse(result->output, p->numjobs, depth, ret) < 0 ||
            (failed && !ret->error && ret->read.ios + ret->write.ios == 0))
                return -EIO;
        if (failed && !ret->error)
                ret->error = -EIO;
        return 0;
}

int fio_run(const struct fio_job *job, spawn_tick_t tick, void *userdata, struct bench_run *ret, char **ret_why)
{
        _cleanup_(fio_result_done) struct fio_result result = {};
        _cleanup_close_ int target = -1;
        size_t n = job->n_hosts;
        uint64_t available = 0, each, started;
        int r;

        if (ret_why)
                *ret_why = NULL;
        /* A server ignores --readonly: there, this check is the only protection. */
        if (bench_pattern_writes(job->pattern) && !job->writes)
                return -EPERM;
        if (n > FIO_JOBS_MAX || (n > 0 && !hosts_path_ok(job->path)))
                return -EINVAL;
        if (n > 0)
                available = job->region / n;
        else if ((target = open_target(job, &available)) < 0)
                return target;
        each = fio_region_each(job->pattern, available);
        if (each == 0)
                return -ENOSPC;
        started = now_realtime();
        r = execute(job, target, each, tick, userdata, &result);
        if (r < 0)
                return r;
        r = understand(job, &result, ret);
        if (ret_why && (r < 0 || ret->error))
                *ret_why = words_of(&result);
        for (size_t i = 0; r >= 0 && i <= n; i++) {
                ret[i].started_usec = started;
                ret[i].region = each * job->pattern->numjobs * (i == 0 && n > 0 ? n : 1);
                /* The kernel of another machine counts its own. */
                ret[i].device_read_bytes = n > 0 ? -1 : (double) result.read_bytes;
                ret[i].device_written_bytes = n > 0 ? -1 : (double) result.written_bytes;
        }
        return r;
}

/* A preparation: whole blocks in sequence, to the end of the region, by the first of several machines. size: 0: all of it. */
static int run_once(struct fio_job job, const char *section, uint64_t size, spawn_tick_t tick, void *userdata, char **ret_why)
{
        struct bench_pattern p = {.block_size = ONCE_BLOCK,
                                  .size = size,
                                  .iodepth = 1,
                                  .numjobs = 1,
                                  .sync_engine = true,
                                  .section = (char *) section};
        struct bench_run runs[2];
        int r;

        (void) copy_string(p.rw, sizeof(p.rw), job.writes ? "write" : "read");
        p.read_percent = job.writes ? 0 : 100;
        job.pattern = &p;
        job.n_hosts = job.hosts ? 1 : 0;
        r = fio_run(&job, tick, userdata, runs, ret_why);
        return r < 0 ? r : runs[0].error;
}

int fio_read_once(const struct fio_job *job, spawn_tick_t tick, void *userdata, char **ret_why)
{
        const struct bench_pattern *p = job->pattern;
        struct fio_job once = *job;
        int r;

        once.writes = false;
        /* The region of a sweep is the largest of its points. */
        r = run_once(once, p->direct ? "ioengine=psync\nbs=1m\ndirect=1\n" : "ioengine=psync\nbs=1m\n",
                     job->region || p->size > UINT64_MAX / p->numjobs ? 0 : p->size * p->numjobs, tick, userdata, ret_why);
        return r == -ENOSPC ? 0 : r;
}

int fio_lay_out(const char *path, uint64_t size, char *const *hosts, spawn_tick_t tick, void *userdata, char **ret_why)
{
        struct fio_job job = {.path = path, .region = size, .hosts = hosts, .creates = hosts != NULL, .writes = true};

        return run_once(job, LAY_OUT, 0, tick, userdata, ret_why);
}

static int give_up(void *deadline)
{
        return now_boottime() < *(uint64_t *) deadline ? 0 : -ETIMEDOUT;
}

int fio_remove(const char *path, char *const *hosts)
{
        struct fio_job job = {.path = path, .region = ONCE_BLOCK, .hosts = hosts};
        uint64_t deadline = now_boottime() + REMOVE_USEC;

        return run_once(job, "ioengine=psync\nbs=1m\nunlink=1\n", 0, give_up, &deadline, NULL);
}
