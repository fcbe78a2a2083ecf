/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>

#include "bench/bench.h"

/* What fio's JSON has of jobs, added up. fio 3.1 to 3.41 were looked at; before 3.0 times were in microseconds. */

struct fio_bin {
        uint64_t ns, count;
};

struct fio_tally_side {
        uint64_t bytes, ios, runtime_ms;
        double bytes_per_sec, iops; /* sums of fio's own, for where there is no run time */
        double mean_sum, slat_sum;  /* means by number of I/Os */
        uint64_t highest[3];        /* p50, p95, p99 of the job that has the highest */
        struct fio_bin *bins;       /* of json+: all latencies of all jobs */
        size_t n_bins;
        size_t entries; /* how many did any I/O */
        size_t with_bins;
};

struct fio_tally {
        struct fio_tally_side read, write, sync;
        double depth_sum, depth_weight;
        double cpu_sum;
        size_t entries;
        int error;
};

/* The JSON document in a text that may begin and end with other words; NULL: none. */
json_object *fio_document(const char *text);
/* One entry of "jobs" or "client_stats"; depth: what iodepth= asked for. 0 or -ENOMEM. */
int fio_tally_add(struct fio_tally *t, json_object *entry, unsigned depth);
/* jobs: numjobs= behind every entry, grouped or not. */
void fio_tally_finish(struct fio_tally *t, unsigned jobs, struct bench_run *ret);
void fio_tally_done(struct fio_tally *t);
