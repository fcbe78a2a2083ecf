/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

/* How far a session is, as a line of term/progress.h. */
struct bench_progress {
        uint64_t drawn;                 /* CLOCK_BOOTTIME in usec; 0: the step is new */
        char what[160];                 /* "uas, RND4K-Q32T1, round 2 of 5" */
        uint64_t done_usec, total_usec; /* of all steps before this one, and of all of them */
};

/* A step begins. */
void bench_progress_step(struct bench_progress *p, const char *what, uint64_t done_usec, uint64_t total_usec);
/* Within the step; at most four times a second. */
void bench_progress_show(struct bench_progress *p, uint64_t within_usec);

/* "3 min", rounded as people say it. Returns ret. */
#define PROGRESS_TIME_MAX 32
char *bench_progress_time(uint64_t usec, char ret[static PROGRESS_TIME_MAX]);
