/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/measure/progress.h"

#include <sys/ioctl.h>

#include "common/util.h"
#include "sys/io/clock.h"
#include "term/style.h"

#define RENEW_USEC (250 * USEC_PER_MSEC)
#define LINE_MAX 256
#define WIDTH_DEFAULT 80

void bench_progress_begin(struct progress *p, bool quiet)
{
        *p = (struct progress){.on = !quiet && isatty(STDERR_FILENO) && !style_dumb()};
}

void bench_progress_step(struct progress *p, const char *what, uint64_t done_usec, uint64_t total_usec)
{
        (void) make_harmless(what, p->what, sizeof(p->what));
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
                (void) snprintf(ret, PROGRESS_TIME_MAX, "%u h %u min", (unsigned) (sec / 3600),
                                (unsigned) (sec % 3600 / 60));
        return ret;
}

/* The standard error's own: the output may go elsewhere. */
static unsigned width(void)
{
        struct winsize w;

        return ioctl(STDERR_FILENO, TIOCGWINSZ, &w) >= 0 && w.ws_col > 0 ? w.ws_col : WIDTH_DEFAULT;
}

void bench_progress_show(struct progress *p, uint64_t within_usec)
{
        char line[LINE_MAX + 2], left[PROGRESS_TIME_MAX];
        uint64_t now = now_boottime(), done = p->done_usec + within_usec;

        if (!p->on || (p->drawn && now - p->drawn < RENEW_USEC))
                return;
        p->drawn = now;
        if (done > p->total_usec)
                done = p->total_usec;
        (void) snprintf(line, LINE_MAX, "%3u %%  %s left  %s",
                        p->total_usec ? (unsigned) (done * 100 / p->total_usec) : 0,
                        bench_progress_time(p->total_usec - done, left), p->what);
        style_shorten(line, width() - 1);
        p->shown = true;
        (void) fprintf(stderr, "\r%s\033[K", line);
        (void) fflush(stderr);
}

void bench_progress_clear(struct progress *p)
{
        if (!p->shown)
                return;
        p->shown = false;
        (void) fprintf(stderr, "\r\033[K");
        (void) fflush(stderr);
}
