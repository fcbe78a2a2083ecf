/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/util.h"
#include "core/types.h"

/*
 * The data of `uasctl bench` about a comparison. One side fills it in (profiles, fio, the session with its rounds). The other
 * side prints it (statistics, tables, JSON, charts, history). The two sides share nothing else.
 *
 * Rates are per second, sizes in bytes, times of day in microseconds of CLOCK_REALTIME. Latencies are nanoseconds as in fio since
 * 3.0, from the submission of a request to its completion (lat), including the wait for a place in the kernel's queue. Strings
 * are empty if nothing is known.
 */

/* The quantity that a sweep varies. Public words: as the axes in bench.c. */
enum bench_axis {
        BENCH_AXIS_NONE, /* no sweep: a comparison */
        BENCH_AXIS_DEPTH,
        BENCH_AXIS_JOBS,
        BENCH_AXIS_REGION,
        BENCH_AXIS_RUNTIME, /* seconds that are measured */
        BENCH_AXIS_RAMP,    /* seconds before those */
        BENCH_AXIS_CLIENTS,
        _BENCH_AXIS_MAX,
};

#define BENCH_TEXT_MAX 1024

/* A section of a fio job file. */
struct bench_pattern {
        char name[256];  /* the section: "RND4K-Q32T1" */
        char rw[32];     /* as in fio: "randread", "rw", ... */
        char engine[64]; /* ioengine= */
        uint64_t block_size;
        uint64_t size; /* of the region that each job works on; 0: the whole disk or file */
        unsigned iodepth;
        unsigned numjobs;
        unsigned read_percent; /* 100: only reads, 0: only writes */
        bool random;
        bool direct;
        bool sync_engine;     /* the depth is always 1: also libaio, if buffered */
        double axis;          /* value of a sweep's point, each of which is a pattern: depth, jobs, bytes, seconds or clients */
        unsigned runtime_sec; /* maximum, or exact if time_based; 0: until all of size is done */
        unsigned ramp_sec;    /* before runtime_sec, not measured */
        bool time_based;
        unsigned fsync, fdatasync; /* number of writes before a sync, as in fio; 0: never */
        char *section;             /* of the profile that owns it: the options that fio gets from there. NULL in stored results */
};

/* One direction of one run, all jobs together. */
struct bench_side {
        uint64_t bytes;
        uint64_t ios;
        double bytes_per_sec;
        double iops;
        double mean_ns;
        uint64_t p50_ns;
        uint64_t p95_ns;
        uint64_t p99_ns;
        double slat_mean_ns; /* time of the submission; fio averages slightly different requests, so it can exceed mean_ns */
        double clat_mean_ns; /* from the end of the submission to the completion; negative: not known */
};

/* One run of fio: one pattern under one driver. */
struct bench_run {
        unsigned pattern; /* index in struct bench */
        enum driver driver;
        unsigned round; /* 0: the first one, which does not count */
        unsigned order; /* 0..n-1, in the order of the runs: A B B A */
        uint64_t started_usec;
        uint64_t runtime_usec;
        uint64_t region; /* bytes that all jobs together worked on, to compare with the sizes of caches */
        struct bench_side read;
        struct bench_side write;
        struct bench_side sync;      /* fsync and fdatasync: no bytes, not part of the sides above */
        double depth_share;          /* 0..1: share of I/O at the requested depth, or at 64 or more (fio's iodepth_level) */
        double cpu_percent;          /* of one CPU; above 100 if several were busy */
        double other_bytes_per_sec;  /* moved by others on the same bus meanwhile; negative: not known */
        double device_read_bytes;    /* reads, with the ramp, that came from a device; negative: not known */
        double device_written_bytes; /* writes that the kernel counted for fio; negative: not known */
        int error;                   /* 0, or the negative errno of fio */
        char host[288];              /* name of one of several machines; "": all together, or only one */
};

/* The queue of requests under one driver; 0 and "": not known. */
struct bench_queue {
        enum driver driver; /* only in JSON */
        char scheduler[64];
        unsigned queue_depth; /* requests that the disk accepts at once */
        unsigned nr_requests; /* maximum of requests that wait in the kernel */
};

/* The conditions of the measurement. Speeds of links in Mbit/s. */
struct bench_conditions {
        char model[BENCH_TEXT_MAX];
        char bridge[BENCH_TEXT_MAX]; /* VID:PID, and the chip if it is known */
        char firmware[64];           /* bcdDevice */
        char serial[BENCH_TEXT_MAX];
        char controller[BENCH_TEXT_MAX];
        char kernel[BENCH_TEXT_MAX];
        char fio[BENCH_TEXT_MAX];
        struct bench_queue queues[_DRIVER_MAX];
        unsigned speed_mbps;
        uint64_t disk_size;
        uint64_t memory; /* of the machine, which a page cache may use */
        bool rotational;
        char path[PATH_MAX]; /* --file: the file measured through its file system, or "" for the raw device */
};

/* The event that ended a half early. It is the most important result of a bench. */
struct bench_finding {
        bool found;
        enum driver driver;
        unsigned run;                  /* index of the run at that time */
        char what[2 * BENCH_TEXT_MAX]; /* a clause: "2 commands aborted, 1 reset" */
};

struct bench {
        char id[37]; /* UUID, the name of the result in /var/lib/uasd/bench */
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
        bool single; /* at most one driver was to be measured: there is no comparison, however it ended */
};

void bench_done(struct bench *b);
/* Whether it changes the contents of the disk. */
bool bench_pattern_writes(const struct bench_pattern *p);

/* The members of a result. JSON, CSV and the reader of files use these tables. */

enum field_type {
        FIELD_STRING, /* an array; null in JSON if it is empty */
        FIELD_WORD,   /* the same, never null */
        FIELD_UINT,   /* unsigned */
        FIELD_UINT64,
        FIELD_REAL,
        FIELD_KNOWN, /* a real; negative, in JSON null: not known */
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
        const char *column; /* in CSV, or "" for none; NULL: as name */
        uint64_t max;       /* of a number that is read, 0: the limit of its type; the array limits a string */
};

extern const struct field bench_fields[], finding_fields[], pattern_fields[], run_fields[], side_fields[];
extern const struct field queue_fields[], conditions_fields[];

extern const char *const bench_axes[_BENCH_AXIS_MAX]; /* their words */
