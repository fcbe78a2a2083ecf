/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/measure/progress.h"

#include "common/util.h"
#include "sys/io/clock.h"
#include "term/progress.h"

#define RENEW_USEC (250 * USEC_PER_MSEC)

void bench_progress_step(struct bench_progress *p, const char *what, uint64_t done_usec, uint64_t total_usec)
{
        (void) copy_string(p->what, sizeof(p->what), what);
        p->done_usec = done_usec;
        p->total_usec = total_usec;
        p->drawn = 0;
        bench_progress_show(p, 0);
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

void bench_progress_show(struct bench_progress *p, uint64_t within_usec)
{
        char line[256], left[PROGRESS_TIME_MAX];
        uint64_t now = now_boottime(), done = p->done_usec + within_usec;

        if (p->drawn && now - p->drawn < RENEW_USEC)
                return;
        p->drawn = now;
        if (done > p->total_usec)
                done = p->total_usec;
        (void) snprintf(line, sizeof(line), "%3u %%  %s left  %s", p->total_usec ? (unsigned) (done * 100 / p->total_usec) : 0,
                        bench_progress_time(p->total_usec - done, left), p->what);
        progress_line(line);
}
