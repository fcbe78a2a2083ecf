/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* How far it is: on a terminal a line on the standard error that renews itself, elsewhere nothing. */
struct progress {
        bool on;
        bool shown;                     /* a line stands there */
        uint64_t drawn;                 /* when, now_boottime() */
        char what[160];                 /* "uas, RND4K-Q32T1, round 2 of 5" */
        uint64_t done_usec, total_usec; /* of all steps before and with this one */
};

void bench_progress_begin(struct progress *p, bool quiet);
/* The step that begins; total: what all steps will have taken. */
void bench_progress_step(struct progress *p, const char *what, uint64_t done_usec, uint64_t total_usec);
/* Within it. */
void bench_progress_show(struct progress *p, uint64_t within_usec);
/* Takes the line away, before anything else is said. */
void bench_progress_clear(struct progress *p);

/* "about 3 min left": rounded as one would say it. Returns ret. */
#define PROGRESS_TIME_MAX 32
char *bench_progress_time(uint64_t usec, char ret[static PROGRESS_TIME_MAX]);
