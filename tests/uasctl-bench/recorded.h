/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "../unit/unit.h"
#include "bench/measure/fio.h"

/* The output of versions of fio (fio/README.md), and numbers from it. */

static inline char *recorded_read(const char *name)
{
        char path[512], *text = calloc(1, 1 << 20);
        FILE *f;

        (void) snprintf(path, sizeof(path), "%s/%s", getenv("UASD_FIO_JSON"), name);
        f = fopen(path, "re");
        if (!f || !text || fread(text, 1, (1 << 20) - 1, f) == 0)
                fail_msg("%s: %m", path);
        (void) fclose(f);
        return text;
}

/* A file, and what fio_parse() makes of it. */
struct recorded {
        const char *file;
        unsigned jobs, depth;
        uint64_t runtime_usec;
        struct bench_side read, write;
        double depth_share;
        int error;
        double cpu; /* compared if `with_cpu` below */
};

static inline bool near(double a, double b)
{
        return a - b <= 1e-6 * (b + 1) && b - a <= 1e-6 * (b + 1);
}

static inline void assert_side(const char *of, const struct bench_side *got, const struct bench_side *want)
{
        if (got->bytes != want->bytes || got->ios != want->ios || !near(got->bytes_per_sec, want->bytes_per_sec) ||
            !near(got->iops, want->iops))
                fail_msg("%s: %lu bytes, %lu I/Os, %f and %f a second", of, got->bytes, got->ios, got->bytes_per_sec, got->iops);
        if (!near(got->mean_ns, want->mean_ns) || !near(got->slat_mean_ns, want->slat_mean_ns))
                fail_msg("%s: mean %f, of it slat %f", of, got->mean_ns, got->slat_mean_ns);
        if (want->clat_mean_ns > 0 && !near(got->clat_mean_ns, want->clat_mean_ns))
                fail_msg("%s: clat %f", of, got->clat_mean_ns);
        if (got->p50_ns != want->p50_ns || got->p95_ns != want->p95_ns || got->p99_ns != want->p99_ns)
                fail_msg("%s: %lu, %lu, %lu", of, got->p50_ns, got->p95_ns, got->p99_ns);
}

static inline void assert_recorded(const struct recorded *rows, size_t n, bool with_cpu)
{
        for (size_t i = 0; i < n; i++) {
                _cleanup_free_ char *text = recorded_read(rows[i].file);
                struct bench_run run;

                assert_row(i, fio_parse(text, 0, rows[i].jobs, rows[i].depth, &run) == 0);
                assert_side(rows[i].file, &run.read, &rows[i].read);
                assert_side(rows[i].file, &run.write, &rows[i].write);
                assert_row(i, run.runtime_usec == rows[i].runtime_usec && run.error == rows[i].error);
                assert_row(i, near(run.depth_share, rows[i].depth_share));
                assert_row(i, !with_cpu || near(run.cpu_percent, rows[i].cpu));
                assert_row(i, run.other_bytes_per_sec < 0 && !*run.host);
        }
}
