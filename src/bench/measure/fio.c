/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/measure/fio.h"

#include <assert.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "bench/measure/fio-parts.h"
#include "common/util.h"
#include "sys/io/clock.h"

#define ONCE_BLOCK (1U << 20)

int fio_version(const char *program, char **ret)
{
        _cleanup_(fio_result_done) struct fio_result result = {};
        int r = fio_execute(&(struct fio_call){program, {"--version"}, .target = -1}, NULL, NULL, &result);

        if (r < 0)
                return r;
        *ret = fio_words(&result);
        return *ret ? 0 : -EIO;
}

int fio_check(const char *program, char *text, char **ret_why)
{
        const struct fio_call call = {program, {"--parse-only"}, (char *[]){text, NULL}, NULL, -1};
        _cleanup_(fio_result_done) struct fio_result result = {};
        int r;

        *ret_why = NULL;
        r = fio_execute(&call, NULL, NULL, &result);
        if (r < 0 || result.status == 0)
                return r;
        *ret_why = fio_words(&result);
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

static int execute(const struct fio_job *job, char *text, int target, fio_progress_t cb, void *userdata, struct fio_result *ret)
{
        assert(job->writes || !bench_pattern_writes(job->pattern));
        return fio_execute(&(struct fio_call){job->program,
                                              {"--output-format=json", job->writes ? NULL : "--readonly"},
                                              (char *[]){text, NULL},
                                              .target = target},
                           cb, userdata, ret);
}

/* fio's counts make the result. Without them its error text is the reason. */
static int understand(const struct fio_job *job, const struct fio_result *result, struct bench_run *ret, char **ret_why)
{
        const struct bench_pattern *p = job->pattern;
        bool failed = !WIFEXITED(result->status) || WEXITSTATUS(result->status) != 0;
        struct bench_run run;
        int r;

        r = fio_parse(result->output, p->numjobs, p->sync_engine ? 1 : p->iodepth, &run);
        if (r == -EBADMSG || (r >= 0 && failed && !run.error && run.read.ios + run.write.ios == 0))
                r = -EIO;
        if (r < 0 || run.error)
                *ret_why = fio_words(result);
        if (r < 0)
                return r;
        if (failed && !run.error)
                run.error = -EIO;
        *ret = run;
        return 0;
}

int fio_run(const struct fio_job *job, fio_progress_t cb, void *userdata, struct bench_run *ret, char **ret_why)
{
        _cleanup_(fio_result_done) struct fio_result result = {};
        _cleanup_free_ char *text = NULL, *why = NULL;
        _cleanup_close_ int target = -1;
        uint64_t available = 0, each, started;
        char name[FIO_FD_MAX];
        int r;

        if (ret_why)
                *ret_why = NULL;
        if (bench_pattern_writes(job->pattern) && !job->writes)
                return -EPERM;
        target = open_target(job, &available);
        if (target < 0)
                return target;
        each = fio_region_each(job->pattern, available);
        if (each == 0)
                return -ENOSPC;
        text = fio_job_text(job, fio_fd_path(target, name), each);
        started = now_realtime();
        r = execute(job, text, target, cb, userdata, &result);
        if (r >= 0)
                r = understand(job, &result, ret, &why);
        if (ret_why)
                *ret_why = TAKE_PTR(why);
        if (r < 0)
                return r;
        ret->started_usec = started;
        ret->region = each * job->pattern->numjobs;
        ret->device_read_bytes = (double) result.read_bytes;
        ret->device_written_bytes = (double) result.written_bytes;
        return 0;
}

/* A preparation: whole blocks in sequence, to the end of the region. */
static int run_once(struct fio_job job, const char *rw, const char *section, fio_progress_t cb, void *userdata, char **ret_why)
{
        struct bench_pattern p = {.block_size = ONCE_BLOCK, .iodepth = 1, .numjobs = 1, .sync_engine = true};
        struct bench_run run;
        int r;

        (void) copy_string(p.rw, sizeof(p.rw), rw);
        p.read_percent = job.writes ? 0 : 100;
        job.pattern = &p;
        job.section = section;
        r = fio_run(&job, cb, userdata, &run, ret_why);
        return r < 0 ? r : run.error;
}

int fio_read_once(const struct fio_job *job, fio_progress_t cb, void *userdata, char **ret_why)
{
        struct fio_job once = *job;
        uint64_t available = 0;
        int target;

        if (ret_why)
                *ret_why = NULL;
        target = open_target(job, &available);
        if (target < 0)
                return target;
        (void) close(target);
        /* The region of a sweep is the largest of its points. */
        once.region = job->region ? available : fio_region(job->pattern, available);
        /* A region smaller than a block needs no preparation. */
        if (once.region < ONCE_BLOCK)
                return once.region ? 0 : -ENOSPC;
        once.writes = false;
        return run_once(once, "read", job->pattern->direct ? "ioengine=psync\nbs=1m\ndirect=1\n" : "ioengine=psync\nbs=1m\n", cb,
                        userdata, ret_why);
}

int fio_lay_out(const char *path, uint64_t size, fio_progress_t cb, void *userdata, char **ret_why)
{
        struct fio_job job = {.path = path, .region = size, .writes = true};

        return run_once(job, "write", FIO_LAY_OUT, cb, userdata, ret_why);
}
