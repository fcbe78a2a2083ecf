/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "../unit/unit.h"
#include "bench/bench.h"

/* Results as fio and the session would return them. */

#define KiB (1024ULL)
#define MiB (1024 * KiB)
#define GiB (1024 * MiB)
#define MB 1e6

/* A hard disk at a 5 Gbit/s link, all conditions known, without patterns. */
struct bench sample_bench(void);
/* name: as in CrystalDiskMark; direct, by io_uring. Returns its index. */
unsigned sample_pattern(struct bench *b, const char *name, const char *rw, uint64_t block_size, unsigned depth);
/* Adds a run with this rate in bytes per second. Its round follows from the existing runs. */
struct bench_run *sample_run(struct bench *b, unsigned pattern, enum driver d, double rate);
/* Adds the round that is dropped, and n others. */
void sample_runs(struct bench *b, unsigned pattern, enum driver d, const double *rates, size_t n);
#define SAMPLE_RUNS(b, pattern, d, ...)                                                                                          \
        sample_runs(b, pattern, d, (const double[]){__VA_ARGS__}, sizeof((const double[]){__VA_ARGS__}) / sizeof(double))
/* Two random, two sequential patterns under both drivers: 3.1 times faster on UAS, and no difference. */
struct bench sample_comparison(void);
/* Every feature: a mix, a sweep's axis, several machines, a finding. */
struct bench sample_full(void);

/* Numbers that are the same on every machine: 0 <= x < 1, and with mean 0 and deviation 1. */
double sample_random(uint64_t *state);
double sample_normal(uint64_t *state);
