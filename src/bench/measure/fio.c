/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/measure/fio.h"

#include <assert.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "common/util.h"
#include "sys/io/clock.h"
#include "term/terminal.h"

#define OUTPUT_MAX (64U << 20)
#define CHARGED_BLOCK 512 /* unit of getrusage(), in bytes */
#define ONCE_BLOCK (1U << 20)
#define REMOVE_USEC (60 * USEC_PER_SEC)
#define WORDS_LENGTH_MAX 2000

/* Options that fill a file. A file system reads zeros, and blocks that were never written, without the disk. */
#define LAY_OUT "ioengine=psync\nbs=1m\nrefill_buffers=1\nend_fsync=1\n"

/* ---- one start of the program ---- */

/* The descriptors that fio gets. It opens those after its standard ones as /proc/self/fd/N. */
enum { FD_IN, FD_OUT, FD_ERRORS, FD_OUTPUT, FD_TARGET, FD_JOBS, _FD_MAX = FD_JOBS + FIO_JOBS_MAX };
#define FD_PATH_MAX 32

struct fio_result {
        char *output; /* JSON, and other text that fio printed */
        char *errors;
        int status;                         /* as from waitpid() */
        uint64_t read_bytes, written_bytes; /* from and to devices, by all its processes, as the kernel counted them */
};

static void result_done(struct fio_result *r)
{
        free(r->output);
        free(r->errors);
}

static int make_file(const char *name, const char *text)
{
        size_t n = strlen(text);
        int fd = memfd_create(name, MFD_CLOEXEC);

        if (fd >= 0 && n > 0 && write(fd, text, n) != (ssize_t) n)
                return close_keep_errno(fd);
        return fd;
}

static char *fd_path(int fd, char ret[static FD_PATH_MAX])
{
        (void) snprintf(ret, FD_PATH_MAX, "/proc/self/fd/%i", fd);
        return ret;
}

/* job: has the program, the machine of each job file, and the callback. options: the first two, or NULL. */
static int start(const struct fio_job *job, const char *const options[static 2], const int fds[static _FD_MAX], size_t n_fds,
                 struct fio_result *ret)
{
        /* A job file can read the environment as ${VARIABLE}. */
        static char *const environment[] = {"LC_ALL=C", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL};
        char *arguments[5 + 3 * FIO_JOBS_MAX] = {"fio"}, output[48], names[FIO_JOBS_MAX][FD_PATH_MAX];
        struct spawn s = {job->program ?: FIO_PROGRAM, arguments, environment, fds, n_fds, job->tick, job->userdata};
        struct rusage usage = {};
        size_t n = 1;
        int r;

        (void) snprintf(output, sizeof(output), "--output=/proc/self/fd/%i", fds[FD_OUTPUT]);
        arguments[n++] = output; /* first, since fio ends at --version */
        for (size_t i = 0; i < 2 && options[i]; i++)
                arguments[n++] = (char *) options[i];
        for (size_t i = 0; FD_JOBS + i < n_fds; i++) {
                if (job->n_hosts > 0) {
                        arguments[n++] = (char *) "--client";
                        arguments[n++] = job->hosts[i];
                }
                arguments[n++] = fd_path(fds[FD_JOBS + i], names[i]);
        }
        r = ret->status = spawn(&s, &usage);
        if (r >= 0)
                r = read_whole(fds[FD_OUTPUT], OUTPUT_MAX, &ret->output, &n);
        if (r >= 0)
                r = read_whole(fds[FD_ERRORS], OUTPUT_MAX, &ret->errors, &n);
        ret->read_bytes = (uint64_t) usage.ru_inblock * CHARGED_BLOCK;
        ret->written_bytes = (uint64_t) usage.ru_oublock * CHARGED_BLOCK;
        return r;
}

/*
 * Runs fio to its end. texts: of job files, at most FIO_JOBS_MAX, and NULL at the end. target: -1: none. Returns 0 even if fio
 * failed, or as spawn(). ret is empty, and must be freed in either case.
 */
static int execute(const struct fio_job *job, const char *const options[static 2], char *const *texts, int target,
                   struct fio_result *ret)
{
        int none = open("/dev/null", O_RDWR | O_CLOEXEC), r;
        int fds[_FD_MAX] = {none, none, make_file("errors", ""), make_file("output", ""), target};
        bool made = none >= 0 && fds[FD_ERRORS] >= 0 && fds[FD_OUTPUT] >= 0;
        size_t n = FD_JOBS;

        for (; made && texts[n - FD_JOBS] && n < _FD_MAX; n++) {
                fds[n] = make_file("jobs", texts[n - FD_JOBS]);
                made = fds[n] >= 0;
        }
        r = made ? start(job, options, fds, n, ret) : -errno;
        for (size_t i = FD_OUT; i < n; i++)
                if (i != FD_TARGET) /* it belongs to the caller */
                        (void) close_keep_errno(fds[i]);
        return r < 0 ? r : 0;
}

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

int fio_ask(const char *option, char *text, char **ret)
{
        _cleanup_(result_done) struct fio_result result = {};
        int r = execute(&(struct fio_job){}, (const char *[]){option, NULL}, (char *[]){text, NULL}, -1, &result);

        *ret = r < 0 ? NULL : words_of(&result);
        return r >= 0 && result.status ? -EBADMSG : r;
}

/* ---- a job ---- */

/* Opened once, so that every run of a job uses the same disk, even if its name changes. */
static int open_target(const struct fio_job *job, uint64_t *ret_available)
{
        _cleanup_close_ int fd = open(job->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        uint64_t size;
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;
        if (job->owns && !job->owns(fd, job->userdata))
                return -ENODEV;
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
static int run_job(const struct fio_job *job, int target, uint64_t each, struct fio_result *ret)
{
        _cleanup_free_ char *path =
                job->n_hosts > 0 ? escape_path(job->path) : need(strdup(fd_path(target, (char[FD_PATH_MAX]){})));
        const char *const options[] = {"--output-format=json", job->n_hosts == 0 && !job->writes ? "--readonly" : NULL};
        char *texts[FIO_JOBS_MAX + 1] = {};
        struct fio_job own = *job;
        int r;

        assert(job->writes || !bench_pattern_writes(job->pattern));
        for (size_t i = 0; i < (job->n_hosts ?: 1); i++) {
                texts[i] = fio_job_text(&own, path, each);
                own.offset += each * job->pattern->numjobs;
                own.seed++;
        }
        r = execute(job, options, texts, target, ret);
        for (char **i = texts; *i; i++)
                free(*i);
        return r;
}

/* fio's counts make the result. Without them its error text is the reason. */
static int understand(const struct fio_job *job, const struct fio_result *result, struct bench_run *ret)
{
        const struct bench_pattern *p = job->pattern;
        unsigned depth = p->sync_engine ? 1 : p->iodepth;
        bool ended = WIFEXITED(result->status), failed = !ended || WEXITSTATUS(result->status) != 0;
        int r = fio_parse(result->output, job->n_hosts, p->numjobs, depth, ret);

        /* If a server does not answer, fio goes on with the others and reports success. Without any server it ends. */
        if (job->n_hosts > 0)
                return r == (int) job->n_hosts ? 0 : r >= 0 || (ended && failed) ? -ECONNREFUSED : -EIO;
        if (r < 0 || (failed && !ret->error && ret->read.ios + ret->write.ios == 0))
                return -EIO;
        if (failed && !ret->error)
                ret->error = -EIO;
        return 0;
}

int fio_run(const struct fio_job *job, struct bench_run *ret, char **ret_why)
{
        _cleanup_(result_done) struct fio_result result = {};
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
        r = run_job(job, target, each, &result);
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

/* A preparation: whole blocks in sequence, to the end of the region, by the first of several machines. */
static int run_once(struct fio_job job, const char *section, char **ret_why)
{
        struct bench_pattern p = {.block_size = ONCE_BLOCK,
                                  .iodepth = 1,
                                  .numjobs = 1,
                                  .sync_engine = true,
                                  .read_percent = job.writes ? 0 : 100,
                                  .section = (char *) section};
        struct bench_run runs[2];
        int r;

        (void) copy_string(p.rw, sizeof(p.rw), job.writes ? "write" : "read");
        job.pattern = &p;
        job.n_hosts = job.hosts ? 1 : 0;
        r = fio_run(&job, runs, ret_why);
        return r < 0 ? r : runs[0].error;
}

int fio_prepare(const struct fio_job *job, char **ret_why)
{
        static const char read[] = "ioengine=psync\nbs=1m\n", read_direct[] = "ioengine=psync\nbs=1m\ndirect=1\n";
        struct fio_job once = *job;
        int r;

        once.creates = job->writes && job->hosts;
        r = run_once(once, job->writes ? LAY_OUT : job->pattern->direct ? read_direct : read, ret_why);
        return r == -ENOSPC && !job->writes ? 0 : r;
}

static int give_up(void *deadline)
{
        return now_boottime() < *(uint64_t *) deadline ? 0 : -ETIMEDOUT;
}

int fio_remove(const char *path, char *const *hosts)
{
        uint64_t deadline = now_boottime() + REMOVE_USEC;
        struct fio_job job = {.path = path, .region = ONCE_BLOCK, .hosts = hosts, .tick = give_up, .userdata = &deadline};

        return run_once(job, "ioengine=psync\nbs=1m\nunlink=1\n", NULL);
}
