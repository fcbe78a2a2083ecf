/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/measure/progress.h"

#include "common/util.h"
#include "sys/io/clock.h"
#include "term/progress.h"

#define RENEW_USEC (250 * USEC_PER_MSEC)

void bench_progress_step(struct bench_progress *p, uint64_t done_usec, uint64_t step_usec, uint64_t total_usec)
{
        p->begin = now_boottime();
        p->drawn = 0;
        p->done_usec = done_usec;
        p->step_usec = step_usec;
        p->total_usec = total_usec;
        bench_progress_show(p);
}

char *bench_progress_time(uint64_t usec, char ret[static PROGRESS_TIME_MAX])
{
        uint64_t sec = (usec + USEC_PER_SEC - 1) / USEC_PER_SEC;

        if (sec < 60)
                (void) snprintf(ret, PROGRESS_TIME_MAX, "%u s", (unsigned) sec);
        else if (sec < 3600)
                (void) snprintf(ret, PROGRESS_TIME_MAX, "%u min", (unsigned) ((sec + 59) / 60));
        else
                (void) snprintf(ret, PROGRESS_TIME_MAX, "%u h %u min", (unsigned) (sec / 3600), (unsigned) (sec % 3600 / 60));
        return ret;
}

void bench_progress_show(struct bench_progress *p)
{
        char line[sizeof(p->what) + 64], left[PROGRESS_TIME_MAX];
        uint64_t now = now_boottime(), within = now - p->begin,
                 done = p->done_usec + (within < p->step_usec ? within : p->step_usec);

        if (p->drawn && now - p->drawn < RENEW_USEC)
                return;
        p->drawn = now;
        if (done > p->total_usec)
                done = p->total_usec;
        (void) snprintf(line, sizeof(line), "%3u %%  %s left  %s", p->total_usec ? (unsigned) (done * 100 / p->total_usec) : 0,
                        bench_progress_time(p->total_usec - done, left), p->what);
        progress_line(line);
}
