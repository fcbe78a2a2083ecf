/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/measure/layout.h"

#include "common/util.h"

/* Zeros, and what was never written, a file system reads without asking the disk. */
static const char text[] = "[layout]\n"
                           "rw=write\n"
                           "bs=1M\n"
                           "ioengine=psync\n"
                           "refill_buffers\n"
                           "end_fsync=1\n";

int lay_out(const char *path, uint64_t size, fio_progress_t cb, void *userdata, char **ret_why)
{
        _cleanup_(profile_freep) struct profile *p = NULL;
        struct bench_run run = {};
        struct fio_job job;
        int k;

        *ret_why = NULL;
        k = profile_parse("layout", "layout", text, sizeof(text) - 1, NULL, NULL, &p);
        if (k < 0)
                return k;
        job = (struct fio_job){
                .pattern = &p->patterns[0],
                .section = &p->sections[0],
                .path = path,
                .region = size,
                .writes = true,
        };
        k = fio_run(&job, cb, userdata, &run, ret_why);
        if (k >= 0)
                k = run.error;
        bench_run_done(&run);
        return k;
}
