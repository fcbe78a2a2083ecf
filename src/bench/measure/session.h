/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/measure/subject.h"
#include "bench/measure/watch.h"

/*
 * The steps of a bench, in an array that is made before it begins. A dry run prints the same steps.
 *
 * Two drivers are compared in the order A B B A: A has half of its rounds before B and half after. So a drift (heat, caches,
 * other load) affects both in the same way. The two blocks of B are adjacent, and need no switch between them.
 *
 * Within a block, each pattern has all of its rounds in sequence, because alternating patterns vary more. The first round of
 * every pattern in a block is round 0. It does not count, because the disk did something else before.
 */
enum step_kind {
        STEP_SWITCH,   /* to step.driver */
        STEP_READ_ALL, /* the region once, before the rounds that count */
        STEP_RUN,
        STEP_PAUSE,
        _STEP_KIND_MAX,
};

struct step {
        enum step_kind kind;
        enum driver driver;      /* driver of the step; STEP_SWITCH: target */
        unsigned pattern, round; /* of STEP_RUN */
        uint64_t usec;           /* expected duration */
};

struct session {
        struct subject *subject;
        struct bench *bench;
        struct errors_watch errors;
        struct step *steps;
        size_t n_steps, at;      /* `at`: the present one */
        bool ended[_DRIVER_MAX]; /* drivers whose half has ended early. Their runs, and the switches to them, are skipped */
        uint64_t looked;         /* time of the last check of the disk */
        int stop;                /* -EINTR, -EIO (trouble), -ENODEV (unplugged) or -EPIPE (lease): why a run was ended */
        char what[320];   /* the present step for the line of progress: "uas, round 2 of 5: random read, 4 KiB, depth 32" */
        unsigned percent; /* the largest that was shown */
        uint64_t started, begin; /* of all steps, and of the present one; CLOCK_BOOTTIME in usec */
};

/* Makes the steps, with their expected durations. The owner of the session frees them. */
void session_plan(struct session *s);
/* The same without durations. Pure. */
void session_make_steps(struct session *s);
/* The next step from `at` on, or n_steps; and the expected duration of all steps from there on. */
size_t session_next(const struct session *s, size_t at);
uint64_t session_left(const struct session *s, size_t at);
/* Expected duration of a run. It is an estimate if the run ends with its region, not with a time. */
uint64_t session_expected(const struct bench_pattern *p, uint64_t available);

/*
 * Runs the steps. Reports errors. Returns an enum uasd_exit. OK. ROLLED_BACK: with a finding, the rest was measured. With all
 * others the result in the bench is incomplete.
 */
int session_run(struct session *s);
/* Switches the disk, unless it is on that driver. Reports errors. Returns an enum uasd_exit. */
int session_switch(struct session *s, enum driver to);

/* ---- its runs, and the checks of the disk meanwhile ---- */

/* From now on SIGINT, SIGTERM and SIGHUP end a session in an orderly way. run_signal() returns the signal, or 0. */
void run_catch_signals(void);
/* Until then these signals end uasctl, with these words. */
void run_die_saying(const char *words);
int run_signal(void);

/* These return 0; -EINTR, -EIO, -ENODEV, -EPIPE as s->stop; other -errno, reported. */
int run_read_all(struct session *s);
int run_pattern(struct session *s, const struct step *step);
int run_pause(struct session *s, uint64_t usec);

/* Bytes that run_read_all() reads. */
uint64_t run_region_once(const struct session *s);

/* The percentage of what is done, for the line of progress. It never falls, also if the rest turns out to be longer. */
unsigned session_percent(struct session *s, uint64_t done, uint64_t rest);
/* A step lasts as long as the one before it of the same kind and, if it is a run, with the same pattern. */
void session_learn(struct session *s, uint64_t usec);
/* Shows the progress of the present step. */
void run_show_progress(struct session *s);
/* "3 min", rounded. Returns ret. */
#define RUN_TIME_MAX 32
char *run_time_text(uint64_t usec, char ret[static RUN_TIME_MAX]);

/* Reports fio's error text (NULL: none), a line each. log_error() escapes the ends of lines. */
void bench_log_words(char *words);

/* The lease has ended or the disk is gone: reports which, and returns the exit status. */
int run_lost(struct session *s);
