/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/bench.h"

#define TEXT_OF(s, m, column) offsetof(struct s, m), column, sizeof(((struct s *) 0)->m)

#define BENCH(m) offsetof(struct bench, m)
const struct field bench_fields[] = {
        {"id", FIELD_WORD, TEXT_OF(bench, id, NULL)},
        {"profile", FIELD_WORD, TEXT_OF(bench, profile, NULL)},
        {"axis", FIELD_AXIS, BENCH(axis)},
        {"started_usec", FIELD_TIME, BENCH(started_usec), ""},
        {"interrupted", FIELD_BOOL, BENCH(interrupted), ""},
        {"single", FIELD_BOOL, BENCH(single), ""},
        {},
};

#define FINDING(m) offsetof(struct bench_finding, m)
const struct field finding_fields[] = {
        {"driver", FIELD_DRIVER, FINDING(driver)},
        {"run", FIELD_UINT, FINDING(run)},
        {"what", FIELD_STRING, TEXT_OF(bench_finding, what, NULL)},
        {},
};

#define PATTERN(m) offsetof(struct bench_pattern, m)
const struct field pattern_fields[] = {
        {"name", FIELD_WORD, TEXT_OF(bench_pattern, name, "pattern")},
        {"rw", FIELD_WORD, TEXT_OF(bench_pattern, rw, NULL)},
        {"engine", FIELD_STRING, TEXT_OF(bench_pattern, engine, NULL)},
        {"block_size", FIELD_UINT64, PATTERN(block_size)},
        {"size", FIELD_UINT64, PATTERN(size)},
        {"iodepth", FIELD_UINT, PATTERN(iodepth), NULL, UINT16_MAX},
        {"numjobs", FIELD_UINT, PATTERN(numjobs), NULL, UINT16_MAX},
        {"read_percent", FIELD_UINT, PATTERN(read_percent), NULL, 100},
        {"random", FIELD_BOOL, PATTERN(random)},
        {"direct", FIELD_BOOL, PATTERN(direct)},
        {"sync_engine", FIELD_BOOL, PATTERN(sync_engine)},
        {"time_based", FIELD_BOOL, PATTERN(time_based)},
        {"runtime_sec", FIELD_UINT, PATTERN(runtime_sec)},
        {"ramp_sec", FIELD_UINT, PATTERN(ramp_sec)},
        {"fsync", FIELD_UINT, PATTERN(fsync), NULL, INT32_MAX},
        {"fdatasync", FIELD_UINT, PATTERN(fdatasync), NULL, INT32_MAX},
        {"axis", FIELD_REAL, PATTERN(axis), "axis_value"},
        {},
};

#define RUN(m) offsetof(struct bench_run, m)
const struct field run_fields[] = {
        {"pattern", FIELD_UINT, RUN(pattern), ""},
        {"driver", FIELD_DRIVER, RUN(driver)},
        {"round", FIELD_UINT, RUN(round)},
        {"order", FIELD_UINT, RUN(order)},
        {"started_usec", FIELD_TIME, RUN(started_usec), "started"},
        {"runtime_usec", FIELD_UINT64, RUN(runtime_usec)},
        {"region", FIELD_UINT64, RUN(region)},
        {"read", FIELD_SIDE, RUN(read)},
        {"write", FIELD_SIDE, RUN(write)},
        {"sync", FIELD_SIDE, RUN(sync)},
        {"depth_share", FIELD_REAL, RUN(depth_share)},
        {"cpu_percent", FIELD_REAL, RUN(cpu_percent)},
        {"other_bytes_per_sec", FIELD_KNOWN, RUN(other_bytes_per_sec)},
        {"device_read_bytes", FIELD_KNOWN, RUN(device_read_bytes)},
        {"device_written_bytes", FIELD_KNOWN, RUN(device_written_bytes)},
        {"error", FIELD_ERRNO, RUN(error)},
        {"host", FIELD_STRING, TEXT_OF(bench_run, host, NULL)},
        {},
};

#define SIDE(m) offsetof(struct bench_side, m)
const struct field side_fields[] = {
        {"bytes", FIELD_UINT64, SIDE(bytes)},
        {"ios", FIELD_UINT64, SIDE(ios)},
        {"bytes_per_sec", FIELD_REAL, SIDE(bytes_per_sec)},
        {"iops", FIELD_REAL, SIDE(iops)},
        {"mean_ns", FIELD_REAL, SIDE(mean_ns)},
        {"p50_ns", FIELD_UINT64, SIDE(p50_ns)},
        {"p95_ns", FIELD_UINT64, SIDE(p95_ns)},
        {"p99_ns", FIELD_UINT64, SIDE(p99_ns)},
        {"clat_mean_ns", FIELD_KNOWN, SIDE(clat_mean_ns)},
        {"slat_mean_ns", FIELD_REAL, SIDE(slat_mean_ns)},
        {},
};

#define QUEUE(m) offsetof(struct bench_queue, m)
const struct field queue_fields[] = {
        {"driver", FIELD_DRIVER, QUEUE(driver), ""},
        {"scheduler", FIELD_STRING, TEXT_OF(bench_queue, scheduler, NULL)},
        {"queue_depth", FIELD_UINT, QUEUE(queue_depth)},
        {"nr_requests", FIELD_UINT, QUEUE(nr_requests)},
        {},
};

#define CONDITIONS(m) offsetof(struct bench_conditions, m)
const struct field conditions_fields[] = {
        {"model", FIELD_STRING, TEXT_OF(bench_conditions, model, NULL)},
        {"bridge", FIELD_STRING, TEXT_OF(bench_conditions, bridge, NULL)},
        {"firmware", FIELD_STRING, TEXT_OF(bench_conditions, firmware, NULL)},
        {"serial", FIELD_STRING, TEXT_OF(bench_conditions, serial, NULL)},
        {"controller", FIELD_STRING, TEXT_OF(bench_conditions, controller, NULL)},
        {"kernel", FIELD_STRING, TEXT_OF(bench_conditions, kernel, NULL)},
        {"fio", FIELD_STRING, TEXT_OF(bench_conditions, fio, NULL)},
        {"path", FIELD_STRING, TEXT_OF(bench_conditions, path, NULL)},
        {"speed_mbps", FIELD_UINT, CONDITIONS(speed_mbps)},
        {"disk_size", FIELD_UINT64, CONDITIONS(disk_size)},
        {"memory", FIELD_UINT64, CONDITIONS(memory)},
        {"rotational", FIELD_BOOL, CONDITIONS(rotational)},
        {},
};

const char *const bench_axes[_BENCH_AXIS_MAX] = {
        [BENCH_AXIS_NONE] = "none",       [BENCH_AXIS_DEPTH] = "depth",     [BENCH_AXIS_JOBS] = "jobs",
        [BENCH_AXIS_REGION] = "region",   [BENCH_AXIS_RUNTIME] = "runtime", [BENCH_AXIS_RAMP] = "ramp",
        [BENCH_AXIS_CLIENTS] = "clients",
};

void bench_done(struct bench *b)
{
        free(b->patterns);
        free(b->runs);
        *b = (struct bench){};
}

bool bench_pattern_writes(const struct bench_pattern *p)
{
        return p->read_percent < 100;
}
