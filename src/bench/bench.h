/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/util.h"
#include "core/types.h"

/*
 * What `uasctl bench` knows of a comparison. One side fills it in (profiles, fio, the session with its rounds), the
 * other tells it (statistics, tables, JSON, charts, history); neither takes anything else of the other.
 *
 * Rates are per second, sizes in bytes, times of day in microseconds of CLOCK_REALTIME. Latencies are nanoseconds as
 * fio has them since 3.0, from when a request is handed over until it is done (lat): what waits for a place in the
 * kernel's queue is in it. Strings are empty where nothing is known.
 */

/* What a sweep varies. Public words: "none", "depth", "jobs", "region", "clients". */
enum bench_axis {
        BENCH_AXIS_NONE, /* no sweep: a comparison */
        BENCH_AXIS_DEPTH,
        BENCH_AXIS_JOBS,
        BENCH_AXIS_REGION,
        BENCH_AXIS_CLIENTS,
        _BENCH_AXIS_MAX,
};

#define BENCH_TEXT_MAX 1024

/* A section of a fio job file. */
struct bench_pattern {
        char name[256];  /* the section: "RND4K-Q32T1" */
        char rw[32];     /* as fio has it: "randread", "rw", ... */
        char engine[64]; /* ioengine= */
        uint64_t block_size;
        uint64_t size; /* of the region each of its jobs works on; 0: the whole disk or file */
        unsigned iodepth;
        unsigned numjobs;
        unsigned read_percent; /* 100 reads alone, 0 writes alone */
        bool random;
        bool direct;
        bool sync_engine;     /* iodepth is 1 whatever the file says: also libaio, where buffered */
        double axis;          /* of a sweep, every point of which is a pattern: depth, jobs, bytes or clients */
        unsigned runtime_sec; /* at most, or exactly if time_based; 0: until all of size is done */
        unsigned ramp_sec;    /* before it, not measured */
        bool time_based;
        unsigned fsync, fdatasync; /* as fio has them: after so many writes; 0: never */
};

/* One direction of one run, all of its jobs together. */
struct bench_side {
        uint64_t bytes;
        uint64_t ios;
        double bytes_per_sec;
        double iops;
        double mean_ns;
        uint64_t p50_ns;
        uint64_t p95_ns;
        uint64_t p99_ns;
        double slat_mean_ns; /* what handing over took; of nearly the same requests, so that it may be above mean_ns */
};

/* One run of fio: one pattern under one driver. */
struct bench_run {
        unsigned pattern; /* index in struct bench */
        enum driver driver;
        unsigned round; /* 0 is the first one, which is dropped */
        unsigned order; /* 0..n-1, as they were run: A B B A */
        uint64_t started_usec;
        uint64_t runtime_usec;
        uint64_t region; /* bytes that all jobs together worked on: what caches are to be compared with */
        struct bench_side read;
        struct bench_side write;
        struct bench_side sync;      /* fsync and fdatasync: no bytes, and not among those above */
        double depth_share;          /* 0..1: of all I/O, how much was submitted at the depth asked for, or at 64 or more (fio's
                                        iodepth_level) */
        double cpu_percent;          /* of one CPU: above 100 if several were busy */
        double other_bytes_per_sec;  /* what others moved on the same bus meanwhile; negative: not known */
        double device_read_bytes;    /* of what was read, ramp and all, what came from a device; negative: not known */
        double device_written_bytes; /* the same of what was written, as fio was charged for it */
        int error;                   /* 0, or the negative errno fio ended with */
        char host[288];              /* of several machines: whose; "": all together, or only one */
};

/* The queue of requests under one driver; 0 and "": not known. */
struct bench_queue {
        char scheduler[64];
        unsigned queue_depth; /* requests that the disk is given at once */
        unsigned nr_requests; /* requests that wait in the kernel at most */
};

/* What it was measured on. Links, speeds in megabits a second. */
struct bench_conditions {
        char model[BENCH_TEXT_MAX];
        char bridge[BENCH_TEXT_MAX]; /* VID:PID and chip where known */
        char firmware[64];           /* bcdDevice */
        char serial[BENCH_TEXT_MAX];
        char controller[BENCH_TEXT_MAX];
        char kernel[BENCH_TEXT_MAX];
        char fio[BENCH_TEXT_MAX];
        struct bench_queue queues[_DRIVER_MAX];
        unsigned speed_mbps;
        uint64_t disk_size;
        uint64_t memory; /* of the machine: what a page cache may hide */
        bool rotational;
        char path[PATH_MAX]; /* --file: what was measured through the file system; "": the raw device */
};

/* What ended a half before its time. The most important thing a bench can find. */
struct bench_finding {
        bool found;
        enum driver driver;
        unsigned run;                  /* index of the run during which it came */
        char what[2 * BENCH_TEXT_MAX]; /* a sentence: "2 commands aborted, 1 reset" */
};

struct bench {
        char id[37]; /* a UUID: names the result in /var/lib/uasd/bench */
        char profile[BENCH_TEXT_MAX];
        enum bench_axis axis;
        uint64_t started_usec;
        struct bench_conditions conditions;
        struct bench_pattern *patterns;
        size_t n_patterns;
        struct bench_run *runs;
        size_t n_runs;
        struct bench_finding finding;
        bool interrupted;
        bool single; /* one driver at most was to be measured: there is no comparison, however it ended */
};

void bench_done(struct bench *b);
/* Whether it changes what is on the disk. */
bool bench_pattern_writes(const struct bench_pattern *p);
/* Factor from what fio counted to what was moved with the ramp, which fio leaves out; at the same rate. */
double bench_with_ramp(const struct bench_pattern *p, const struct bench_run *r);

/* Appends to a text of `size` bytes; what does not fit is left out. */
void text_add(char *ret, size_t size, const char *format, ...) _printf_(3, 4);

/* The members of a result, once: JSON, CSV and a file that is read back use these tables. */

enum field_type {
        FIELD_STRING, /* an array; null in JSON if it is empty */
        FIELD_WORD,   /* the same, never null */
        FIELD_UINT,   /* unsigned */
        FIELD_UINT64,
        FIELD_REAL,
        FIELD_KNOWN, /* a real; negative, and null in JSON: not known */
        FIELD_BOOL,
        FIELD_ERRNO, /* 0 or a negative errno */
        FIELD_DRIVER,
        FIELD_AXIS,
        FIELD_TIME, /* usec of CLOCK_REALTIME */
        FIELD_SIDE, /* a struct bench_side */
};

struct field {
        const char *name; /* NULL: the end of the table */
        enum field_type type;
        size_t offset;
        const char *column; /* in CSV; NULL: the name; "": none */
        uint64_t max;       /* of a number that is read, 0: what its type holds; of a string: its array */
};

extern const struct field bench_fields[], finding_fields[], pattern_fields[], run_fields[], side_fields[];
extern const struct field queue_fields[], conditions_fields[];

static inline const void *field_at(const struct field *f, const void *from)
{
        return (const char *) from + f->offset;
}

const char *bench_axis_to_string(enum bench_axis a);
int bench_axis_from_string(const char *s); /* -EINVAL */
