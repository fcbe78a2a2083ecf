/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/measure/errors.h"
#include "bench/measure/lease.h"
#include "bench/measure/patterns.h"
#include "bench/measure/progress.h"
#include "bench/measure/remount.h"
#include "bench/measure/scratch.h"
#include "bench/measure/steps.h"

/* The subject of a measurement. */
struct subject {
        struct bench_lease *lease; /* the raw disk, or a file with `remount`; else NULL */
        char *path;                /* of the file; NULL: the raw disk */
        struct remount *remount;   /* the file system is unmounted for each switch; else NULL */
        struct scratch scratch;
        const char *interface; /* the disk below; NULL: none that uasd manages, or several */
        char block[BLOCK_NAME_MAX];
        enum driver driver; /* present driver; DRIVER_NONE: not known (file) */
        uint64_t available; /* bytes */
        bool writes;        /* writing is permitted */
        bool lay_out;       /* the file is empty and must be written before it is read */
        char **hosts;       /* of several machines; NULL: only this one */
};

struct session {
        const struct bench_context *context;
        const struct bench_options *options;
        struct subject *subject;
        const struct asked *asked; /* one for each pattern */
        struct bench *bench;
        struct errors_watch errors;
        struct bench_progress progress;
        bool ended[_DRIVER_MAX];
        uint64_t *run_usec; /* duration of a run, by pattern */
        uint64_t pause_usec;
        uint64_t looked; /* time of the last check of the disk */
        int stop;        /* -EINTR, -EIO (trouble), -ENODEV (unplugged) or -EPIPE (lease): why a run was ended */
        int seen_signal;
};

/* The steps of the session, in a list to be freed; and their duration. */
struct step *session_plan(struct session *s, enum driver first, enum driver second, size_t *ret_n);
uint64_t session_usec(const struct session *s, const struct step *steps, size_t n, size_t at);
/* Number of rounds that count, for each pattern and driver. */
unsigned session_rounds(const struct session *s);
/* Expected duration of a run. It is an estimate if the run ends with its region, not with a time. */
uint64_t session_expected(const struct bench_pattern *p, uint64_t available);

/*
 * Runs the steps. Reports errors. Returns an enum uasd_exit. OK. ROLLED_BACK: with a finding, the rest was measured. With all
 * others the result in the bench is incomplete.
 */
int session_run(struct session *s, const struct step *steps, size_t n);
/* Switches the disk, unless it is on that driver. Reports errors. Returns an enum uasd_exit. */
int session_switch(struct session *s, enum driver to);
void session_done(struct session *s);
