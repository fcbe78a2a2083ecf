/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/measure/errors.h"
#include "bench/measure/lease.h"
#include "bench/measure/patterns.h"
#include "bench/measure/progress.h"
#include "bench/measure/steps.h"

/* What is measured. */
struct subject {
        struct bench_lease *lease; /* the raw disk; NULL: a file */
        char *path;                /* of the file; NULL with a lease */
        const char *interface;     /* of the disk that is below; NULL: not one of ours, or more than one */
        char block[BLOCK_NAME_MAX];
        enum driver driver; /* that it is on; DRIVER_NONE: not known, of a file */
        uint64_t available; /* bytes */
        bool writes;        /* it may be written to */
        bool lay_out;       /* it is empty: written once, before it is read */
        char **hosts;       /* of several machines; NULL: this one alone */
};

struct session {
        const struct bench_context *context;
        const struct bench_options *options;
        struct subject *subject;
        const struct asked *asked; /* as many as there are patterns */
        struct bench *bench;
        struct errors_watch errors;
        struct bench_progress progress;
        bool ended[_DRIVER_MAX];
        uint64_t *run_usec; /* by pattern: how long a run takes */
        uint64_t pause_usec;
        uint64_t looked; /* when the disk was looked after last */
        int stop;        /* why a run was ended: -EINTR, -EIO: trouble, -ENODEV: unplugged, -EPIPE: the lease */
        int seen_signal;
};

/* The steps of the session, in a list to be freed; and how long they take. */
struct step *session_plan(struct session *s, enum driver first, enum driver second, size_t *ret_n);
uint64_t session_usec(const struct session *s, const struct step *steps, size_t n, size_t at);
/* That count, of each pattern and driver. */
unsigned session_rounds(const struct session *s);
/* How long a run will take; a guess where it ends with its region, and not with a time. */
uint64_t session_expected(const struct bench_pattern *p, uint64_t available);

/*
 * Runs them. Tells what goes wrong; returns an enum uasd_exit: OK; ROLLED_BACK: with a finding, the rest was
 * measured; else what there is in the bench is no whole result.
 */
int session_run(struct session *s, const struct step *steps, size_t n);
void session_done(struct session *s);
