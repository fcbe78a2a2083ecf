/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

/* How far a session is, as a line of term/progress.h. */
struct bench_progress {
        char what[320];                 /* "uas, RND4K-Q32T1, round 2 of 5" */
        uint64_t begin, drawn;          /* CLOCK_BOOTTIME in usec; drawn: 0: the step is new */
        uint64_t done_usec;             /* what the steps before this one took */
        uint64_t step_usec, total_usec; /* what this step, and all of them, are expected to take */
};

/* A step begins; p->what says which. */
void bench_progress_step(struct bench_progress *p, uint64_t done_usec, uint64_t step_usec, uint64_t total_usec);
/* Within the step; at most four times a second. */
void bench_progress_show(struct bench_progress *p);

/* "3 min", rounded as people say it. Returns ret. */
#define PROGRESS_TIME_MAX 32
char *bench_progress_time(uint64_t usec, char ret[static PROGRESS_TIME_MAX]);
