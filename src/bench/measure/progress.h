/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

/* The progress of a session, as a line of term/progress.h. */
struct bench_progress {
        char what[320];                 /* "uas, round 2 of 5: random read, 4 KiB, depth 32" */
        uint64_t begin, drawn;          /* CLOCK_BOOTTIME in usec; drawn is 0 in a new step */
        uint64_t done_usec;             /* duration of the earlier steps */
        uint64_t step_usec, total_usec; /* expected duration of this step, and of all steps */
};

/* Begins a step. p->what describes it. */
void bench_progress_step(struct bench_progress *p, uint64_t done_usec, uint64_t step_usec, uint64_t total_usec);
/* Within the step; at most four times a second. */
void bench_progress_show(struct bench_progress *p);

/* "3 min", rounded. Returns ret. */
#define PROGRESS_TIME_MAX 32
char *bench_progress_time(uint64_t usec, char ret[static PROGRESS_TIME_MAX]);
