/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include "bench/measure/fio-parts.h"
#include "common/util.h"

uint64_t fio_region_each(const struct bench_pattern *p, uint64_t available)
{
        uint64_t each = available / p->numjobs;

        if (p->size && p->size < each)
                each = p->size;
        return each - each % p->block_size;
}

uint64_t fio_region(const struct bench_pattern *p, uint64_t available)
{
        return fio_region_each(p, available) * p->numjobs;
}

/* Options that the job has its own word for. */
static bool is_ours(const struct fio_job *job, const char *name)
{
        static const char *const always[] = {
                "description", "group_reporting", "iodepth",       "new_group", "numjobs",
                "randrepeat",  "randseed",        "readwrite",     "rw",        "size",
                "stonewall",   "thread",          "allrandrepeat",
        };
        static const char *const times[] = {"ramp_time", "runtime", "time_based", "timeout"};

        for (size_t i = 0; i < ELEMENTSOF(always); i++)
                if (streq(name, always[i]))
                        return true;
        for (size_t i = 0; i < ELEMENTSOF(times) && job->runtime_sec; i++)
                if (streq(name, times[i]))
                        return !streq(name, "ramp_time");
        return false;
}

static void print_ours(const struct fio_job *job, const char *filename, uint64_t each, FILE *f)
{
        const struct bench_pattern *p = job->pattern;

        (void) fprintf(f, "filename=%s\nallow_file_create=0\nrw=%s\n", filename, p->rw);
        (void) fprintf(f, "iodepth=%u\nnumjobs=%u\nsize=%" PRIu64 "\noffset=%" PRIu64 "\n", p->iodepth, p->numjobs, each,
                       job->offset);
        /* As if each had a file of its own: what one has read another one finds in a cache. */
        if (p->numjobs > 1)
                (void) fprintf(f, "offset_increment=%" PRIu64 "\n", each);
        /* Threads die with fio however it dies; processes would read on. */
        (void) fputs("thread=1\ngroup_reporting=1\ndisk_util=0\n", f);
        /* From the hand-over on: where the queue is full, clat hides most of the waiting. Old versions have but one. */
        (void) fputs("clat_percentiles=0\nlat_percentiles=1\npercentile_list=50:95:99\n", f);
        /* With randrepeat=1, which is what it is else, fio takes a seed of its own in place of this one. */
        (void) fprintf(f, "randrepeat=0\nrandseed=%" PRIu64 "\n", job->seed + 1);
        if (job->runtime_sec)
                (void) fprintf(f, "time_based=1\nruntime=%u\n", job->runtime_sec);
}

int fio_job_text(const struct fio_job *job, const char *filename, uint64_t each, char **ret)
{
        const struct profile_section *s = job->section;
        char *text = NULL;
        size_t size;
        FILE *f;

        f = open_memstream(&text, &size);
        if (!f)
                return -ENOMEM;
        (void) fputs("[bench]\n", f);
        for (size_t i = 0; s && i < s->n_options; i++)
                if (!is_ours(job, s->options[i].name))
                        (void) fprintf(f, "%s=%s\n", s->options[i].name, s->options[i].value);
        print_ours(job, filename, each, f);
        if (fclose(f) != 0) {
                free(text);
                return -ENOMEM;
        }
        *ret = text;
        return 0;
}

int fio_jobs_alike(const struct fio_job *a, const struct fio_job *b, uint64_t available)
{
        _cleanup_free_ char *first = NULL, *second = NULL;

        if (fio_job_text(a, "", fio_region_each(a->pattern, available), &first) < 0 ||
            fio_job_text(b, "", fio_region_each(b->pattern, available), &second) < 0)
                return -ENOMEM;
        return streq(first, second);
}
