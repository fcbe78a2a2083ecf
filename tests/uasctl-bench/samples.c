/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "samples.h"

#include <math.h>

#define BEGIN 1763900000000000ULL /* 2025-11-23 12:13:20 UTC */

static void *checked(void *p)
{
        assert_non_null(p);
        return p;
}

struct bench sample_bench(void)
{
        return (struct bench){
                .id = "0f3c2a4e-6b1d-4c77-9a55-1d2e3f405162",
                .profile = "cdm",
                .started_usec = BEGIN,
                .conditions =
                        {
                                .model = "ACME Rotor 4000",
                                .bridge = "1209:5a5a JMS580",
                                .firmware = "1.14",
                                .serial = "S-0815",
                                .controller = "xhci_hcd 0000:00:14.0",
                                .kernel = "6.1.0-test",
                                .fio = "fio-3.33",
                                .queues = {[DRIVER_USB_STORAGE] = {0, "mq-deadline", 1, 2},
                                           [DRIVER_UAS] = {0, "mq-deadline", 30, 256}},
                                .speed_mbps = 5000,
                                .disk_size = 4000787030016ULL,
                                .memory = 8 * GiB,
                                .rotational = true,
                        },
        };
}

unsigned sample_pattern(struct bench *b, const char *name, const char *rw, uint64_t block_size, unsigned depth)
{
        b->patterns = checked(reallocarray(b->patterns, b->n_patterns + 1, sizeof(*b->patterns)));
        b->patterns[b->n_patterns] = (struct bench_pattern){
                .block_size = block_size,
                .size = 64 * GiB,
                .iodepth = depth,
                .numjobs = 1,
                .read_percent = strstr(rw, "write")                      ? 0
                                : streq(rw, "randrw") || streq(rw, "rw") ? 50
                                                                         : 100,
                .random = strncmp(rw, "rand", 4) == 0,
                .direct = true,
                .engine = "io_uring",
                .runtime_sec = 10,
                .ramp_sec = 2,
                .time_based = true,
        };
        (void) copy_string(b->patterns[b->n_patterns].name, sizeof(b->patterns[0].name), name);
        (void) copy_string(b->patterns[b->n_patterns].rw, sizeof(b->patterns[0].rw), rw);
        return (unsigned) b->n_patterns++;
}

static void side(struct bench_side *s, const struct bench_pattern *p, double rate)
{
        s->bytes_per_sec = rate;
        s->bytes = (uint64_t) (rate * 10);
        s->iops = rate / (double) p->block_size;
        s->ios = s->bytes / p->block_size;
        s->mean_ns = rate > 0 ? 1e9 * p->iodepth / s->iops : 0;
        s->p50_ns = (uint64_t) (s->mean_ns * 0.9);
        s->p95_ns = (uint64_t) (s->mean_ns * 2);
        s->p99_ns = (uint64_t) (s->mean_ns * 4);
        s->slat_mean_ns = s->mean_ns / 64;
        s->clat_mean_ns = s->mean_ns - s->slat_mean_ns;
}

struct bench_run *sample_run(struct bench *b, unsigned pattern, enum driver d, double rate)
{
        const struct bench_pattern *p = &b->patterns[pattern];
        unsigned round = 0;
        struct bench_run *r;

        for (size_t i = 0; i < b->n_runs; i++)
                round += b->runs[i].pattern == pattern && b->runs[i].driver == d && !*b->runs[i].host;
        b->runs = checked(reallocarray(b->runs, b->n_runs + 1, sizeof(*b->runs)));
        r = &b->runs[b->n_runs];
        *r = (struct bench_run){
                .pattern = pattern,
                .driver = d,
                .round = round,
                .order = (unsigned) b->n_runs,
                .started_usec = BEGIN + b->n_runs * 15 * USEC_PER_SEC,
                .runtime_usec = 10 * USEC_PER_SEC,
                .region = p->size * p->numjobs,
                .depth_share = 0.998,
                .cpu_percent = 3.5,
                .other_bytes_per_sec = 0,
                .device_read_bytes = -1,
                .device_written_bytes = -1,
        };
        if (p->read_percent > 0)
                side(&r->read, p, rate * p->read_percent / 100);
        if (p->read_percent < 100)
                side(&r->write, p, rate * (100 - p->read_percent) / 100);
        b->n_runs++;
        return r;
}

void sample_runs(struct bench *b, unsigned pattern, enum driver d, const double *rates, size_t n)
{
        (void) sample_run(b, pattern, d, n > 0 ? rates[0] / 2 : MB);
        for (size_t i = 0; i < n; i++)
                (void) sample_run(b, pattern, d, rates[i]);
}

struct bench sample_comparison(void)
{
        struct bench b = sample_bench();
        unsigned s8 = sample_pattern(&b, "SEQ1M-Q8T1", "read", MiB, 8);
        unsigned s1 = sample_pattern(&b, "SEQ1M-Q1T1", "read", MiB, 1);
        unsigned r32 = sample_pattern(&b, "RND4K-Q32T1", "randread", 4 * KiB, 32);
        unsigned r1 = sample_pattern(&b, "RND4K-Q1T1", "randread", 4 * KiB, 1);

        SAMPLE_RUNS(&b, s8, DRIVER_USB_STORAGE, 190 * MB, 191 * MB, 189 * MB, 192 * MB, 190.5 * MB);
        SAMPLE_RUNS(&b, s8, DRIVER_UAS, 191 * MB, 190 * MB, 189.5 * MB, 192.5 * MB, 190.2 * MB);
        SAMPLE_RUNS(&b, s1, DRIVER_USB_STORAGE, 171 * MB, 172 * MB, 170 * MB, 171.5 * MB, 170.5 * MB);
        SAMPLE_RUNS(&b, s1, DRIVER_UAS, 170.8 * MB, 172.2 * MB, 170.1 * MB, 171.2 * MB, 170.4 * MB);
        SAMPLE_RUNS(&b, r32, DRIVER_USB_STORAGE, 192 * 4096, 193 * 4096, 190 * 4096, 191 * 4096, 195 * 4096);
        SAMPLE_RUNS(&b, r32, DRIVER_UAS, 595 * 4096, 600 * 4096, 590 * 4096, 592 * 4096, 605 * 4096);
        SAMPLE_RUNS(&b, r1, DRIVER_USB_STORAGE, 118 * 4096, 120 * 4096, 119 * 4096, 121 * 4096, 118.5 * 4096);
        SAMPLE_RUNS(&b, r1, DRIVER_UAS, 119 * 4096, 120.5 * 4096, 118.2 * 4096, 121.5 * 4096, 118.7 * 4096);
        return b;
}

struct bench sample_full(void)
{
        struct bench b = sample_comparison();
        unsigned mixed = sample_pattern(&b, "mixed", "randrw", 4 * KiB, 256);
        struct bench_run *r;

        SAMPLE_RUNS(&b, mixed, DRIVER_USB_STORAGE, 281 * 4096, 280 * 4096);
        r = sample_run(&b, mixed, DRIVER_UAS, 579 * 4096);
        (void) copy_string(r->host, sizeof(r->host), "nas2:8765");
        r->round = 1;
        r = sample_run(&b, mixed, DRIVER_UAS, 0);
        r->error = -EIO;
        r->other_bytes_per_sec = -1;
        r->device_read_bytes = 4096;
        r->device_written_bytes = 8192;
        r->sync = (struct bench_side){
                .ios = 7, .iops = 0.7, .mean_ns = 2.5e6, .p50_ns = 2000000, .p95_ns = 4000000, .p99_ns = 5000000};
        b.patterns[mixed].fsync = 40;
        b.patterns[mixed].fdatasync = 80;
        b.patterns[mixed].axis = 256;
        b.patterns[mixed].sync_engine = true;
        b.axis = BENCH_AXIS_DEPTH;
        b.finding = (struct bench_finding){true, DRIVER_UAS, (unsigned) b.n_runs - 1, "2 commands aborted, 1 reset"};
        b.interrupted = true;
        (void) copy_string(b.conditions.path, sizeof(b.conditions.path), "/mnt/usb/scratch");
        return b;
}

double sample_random(uint64_t *state)
{
        uint64_t z = *state += 0x9e3779b97f4a7c15ULL; /* splitmix64 */

        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        return (double) ((z ^ (z >> 31)) >> 11) / (double) (1ULL << 53);
}

double sample_normal(uint64_t *state)
{
        double radius = sqrt(-2 * log(1 - sample_random(state)));

        return radius * cos(2 * M_PI * sample_random(state));
}
