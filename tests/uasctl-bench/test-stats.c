/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The figures from runs, and the rank test: tables with figures that were calculated elsewhere. */
#include <math.h>

#include "samples.h"

#include "bench/tell/stats.h"

#define VALUES(...)                                                                                                              \
        {                                                                                                                        \
                .values = {__VA_ARGS__}, .n = sizeof((double[]){__VA_ARGS__}) / sizeof(double)                                   \
        }

static bool near(double a, double b)
{
        return fabs(a - b) <= 1e-9 * (1 + fabs(b));
}

#define assert_near(i, a, b)                                                                                                     \
        do {                                                                                                                     \
                if (!near(a, b))                                                                                                 \
                        fail_msg("row %zu: %s is %.12g, not %.12g", (size_t) (i), #a, (double) (a), (double) (b));               \
        } while (0)

static void summaries(void **state)
{
        static const struct {
                struct samples s;
                struct summary want;
        } table[] = {
                {{.n = 0}, {}},
                {VALUES(7), {1, 7, 7, 7, 7, 0}},
                {VALUES(4, 2), {2, 3, 2, 4, 3, 100 * 2 / 3.0}},
                {VALUES(100, 90, 110), {3, 100, 90, 110, 100, 20}},
                {VALUES(1, 1, 1, 97), {4, 1, 1, 97, 25, 384}},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                struct summary got;

                got = stats_summary(&table[i].s);
                assert_int_equal(got.n, table[i].want.n);
                assert_near(i, got.median, table[i].want.median);
                assert_near(i, got.min, table[i].want.min);
                assert_near(i, got.max, table[i].want.max);
                assert_near(i, got.average, table[i].want.average);
                assert_near(i, got.spread_percent, table[i].want.spread_percent);
        }
}

/* The first round, failed runs, runs without I/O, and a machine's part of a sum do not count. */
static void runs_that_count(void **state)
{
        _cleanup_(bench_done) struct bench b = sample_bench();
        unsigned p = sample_pattern(&b, "p", "randread", 4096, 1), other = sample_pattern(&b, "o", "read", MiB, 1);
        struct samples s;
        struct bench_run *r;

        SAMPLE_RUNS(&b, p, DRIVER_UAS, 3 * 4096, 1 * 4096);
        SAMPLE_RUNS(&b, p, DRIVER_USB_STORAGE, 9 * 4096);
        SAMPLE_RUNS(&b, other, DRIVER_UAS, 8 * 4096);
        sample_run(&b, p, DRIVER_UAS, 7 * 4096)->error = -EIO;
        sample_run(&b, p, DRIVER_UAS, 0);
        r = sample_run(&b, p, DRIVER_UAS, 2 * 4096);
        r->order = 0; /* before the others, whatever its index */
        (void) strcpy(sample_run(&b, p, DRIVER_UAS, 6 * 4096)->host, "nas");

        s = stats_samples(&b, p, DRIVER_UAS, STATS_IOPS);
        assert_int_equal(s.n, 3);
        assert_near(0, s.values[0], 2);
        assert_near(0, s.values[1], 3);
        assert_near(0, s.values[2], 1);
        s = stats_samples(&b, p, DRIVER_NONE, STATS_IOPS);
        assert_int_equal(s.n, 0);
        for (size_t i = 0; i < 2 * STATS_SAMPLES_MAX; i++)
                (void) sample_run(&b, p, DRIVER_UAS, 4096);
        s = stats_samples(&b, p, DRIVER_UAS, STATS_BYTES);
        assert_int_equal(s.n, STATS_SAMPLES_MAX);
}

/* Both directions of a mix: the rates are added, and the worse latency counts. */
static void directions(void **state)
{
        const struct bench_run r = {
                .read = {.bytes_per_sec = 10,
                         .iops = 1,
                         .mean_ns = 5,
                         .p50_ns = 4,
                         .p95_ns = 20,
                         .p99_ns = 30,
                         .clat_mean_ns = 8},
                .write = {.bytes_per_sec = 20,
                          .iops = 2,
                          .mean_ns = 6,
                          .p50_ns = 3,
                          .p95_ns = 21,
                          .p99_ns = 29,
                          .clat_mean_ns = -1},
        };
        static const double want[_STATS_MEASURE_MAX] = {30, 3, 6, 8, 4, 21, 30};

        for (enum stats_measure m = 0; m < _STATS_MEASURE_MAX; m++)
                assert_near(m, stats_of_run(&r, m), want[m]);
}

static void figures(void **state)
{
        assert_int_equal(stats_figure(&(struct bench_pattern){.random = true, .block_size = 4096}), STATS_IOPS);
        assert_int_equal(stats_figure(&(struct bench_pattern){.random = true, .block_size = MiB}), STATS_BYTES);
        assert_int_equal(stats_figure(&(struct bench_pattern){.random = false, .block_size = 4096}), STATS_BYTES);
}

/* Every arrangement is counted. Ties get mean ranks. */
static void rank_test(void **state)
{
        static const struct {
                struct samples a, b;
                double ways, all;
        } table[] = {
                {VALUES(1, 2, 3), VALUES(4, 5, 6), 2, 20},
                {VALUES(1, 2, 3, 4, 5), VALUES(6, 7, 8, 9, 10), 2, 252},
                {VALUES(10, 9, 8, 7, 6), VALUES(5, 4, 3, 2, 1), 2, 252},
                {VALUES(1, 2, 3, 4, 7), VALUES(5, 6, 8, 9, 10), 8, 252},
                {VALUES(1, 2, 3, 4, 5), VALUES(1, 2, 3, 4, 5), 252, 252},
                {VALUES(5, 5, 5, 5, 5), VALUES(5, 5, 5, 5, 5), 252, 252},
                {VALUES(1, 2, 2, 3, 4), VALUES(2, 4, 5, 5, 6), 22, 252},
                {VALUES(1), VALUES(2), 2, 2},
                {VALUES(10, 11, 12, 13, 14, 15), VALUES(1, 2, 3, 4), 2, 210},
                {VALUES(1, 2, 3, 4, 5, 20), VALUES(6, 7, 8, 9, 10, 11), 60, 924},
                {VALUES(3, 1, 2, 2, 5, 1, 4), VALUES(6, 7, 5, 9, 8), 3, 792},
        };
        const struct samples none = {}, one = VALUES(1);

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                assert_near(i, stats_rank_p(&table[i].a, &table[i].b), table[i].ways / table[i].all);
                assert_near(i, stats_rank_p(&table[i].b, &table[i].a), table[i].ways / table[i].all);
        }
        assert_near(0, stats_rank_p(&none, &one), 1);
        assert_near(0, stats_least_p(5, 5), 2 / 252.0);
        assert_near(1, stats_least_p(3, 4), 2 / 35.0);
        assert_near(2, stats_least_p(0, 4), 1);
        assert_near(3, stats_least_p(1, 1), 1);
}

/* The maximum of samples, without an overflow. */
static void many_ranks(void **state)
{
        struct samples a = {.n = STATS_SAMPLES_MAX}, b = {.n = STATS_SAMPLES_MAX};
        struct ratio r;

        for (size_t i = 0; i < STATS_SAMPLES_MAX; i++) {
                a.values[i] = 100 + (double) i / 100;
                b.values[i] = 2 * a.values[i];
        }
        assert_true(stats_rank_p(&a, &b) > 0 && stats_rank_p(&a, &b) < 1e-30);
        assert_near(0, stats_rank_p(&a, &a), 1);
        assert_true(stats_ratio(&a, &b, 0.01, &r));
        assert_true(r.low > 1.99 && r.low < 2 && r.high > 2 && r.high < 2.01);
}

static void intervals(void **state)
{
        static const struct {
                struct samples a, b;
                double level;
                bool there;
                struct ratio want;
        } table[] = {
                /* clang-format off */
                {VALUES(100, 101, 102, 103, 104), VALUES(200, 202, 204, 206, 208), 0.01, true, {2, 1.9230769230769231, 2.08}},
                {VALUES(100, 110, 90, 95, 105, 102), VALUES(130, 128, 150, 90, 140, 135), 0.01, true,
                 {1.3284223283101428, 0.8823529411764706, 1.5555555555555556}},
                {VALUES(100, 110, 90, 95, 105, 102), VALUES(130, 128, 150, 90, 140, 135), 0.05, true,
                 {1.3284223283101428, 1, 1.4736842105263157}},
                {VALUES(1, 2, 3, 4), VALUES(4, 8, 12), 0.2, true, {3.464101615137755, 1.3333333333333333, 8}},
                {VALUES(1, 2, 3), VALUES(4, 5, 6), 0.01, false, {}},
                {VALUES(1, 2, 3, 4, 0), VALUES(4, 5, 6, 7, 8), 0.01, false, {}},
                {VALUES(1, 2, 3, 4, 5), {.n = 0}, 0.01, false, {}},
                /* clang-format on */
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                struct ratio r = {};

                assert_row(i, stats_ratio(&table[i].a, &table[i].b, table[i].level, &r) == table[i].there);
                assert_near(i, r.middle, table[i].want.middle);
                assert_near(i, r.low, table[i].want.low);
                assert_near(i, r.high, table[i].want.high);
        }
}

/* Each side of a mix separately, from the runs that count. */
static void sides(void **state)
{
        _cleanup_(bench_done) struct bench b = sample_bench();
        unsigned p = sample_pattern(&b, "p", "randrw", 4096, 256);
        double reads, writes;

        SAMPLE_RUNS(&b, p, DRIVER_UAS, 4096 * 500, 4096 * 580, 4096 * 600);
        for (size_t i = 0; i < b.n_runs; i++)
                b.runs[i].write.iops += (double) i;
        b.runs[3].error = -EIO;
        stats_sides(&b, p, DRIVER_UAS, STATS_IOPS, &reads, &writes);
        assert_true(reads == 270 && writes == 271.5);
        stats_sides(&b, p, DRIVER_USB_STORAGE, STATS_IOPS, &reads, &writes);
        assert_true(reads == 0 && writes == 0);
}

/* The drift of a driver by itself, from quarter to quarter, where neighbouring rounds are alike. */
static void wander(void **state)
{
        static const struct {
                struct samples a, b;
                double want;
        } table[] = {
                {VALUES(10, 10, 11, 11, 12, 12, 13, 13), VALUES(10, 10.1, 10.2, 10.1, 10.3, 10.2, 10.4, 10.3), 1.3},
                {VALUES(10, 10, 11, 11, 12, 12, 13), VALUES(10, 10, 11, 11, 12, 12, 13, 13), 1}, /* too few */
                {VALUES(10, 11, 13, 15, 16, 14, 12, 10), VALUES(20, 22, 26, 30, 32, 28, 24, 20), 15 / 10.5},
                {VALUES(10, 16, 11, 15, 10, 14, 12, 13), VALUES(20, 32, 20, 30, 22, 28, 24, 26), 1}, /* alternating */
                {VALUES(7, 7, 7, 7, 7, 7, 7, 7), VALUES(9, 9, 9, 9, 9, 9, 9, 9), 1},
                /* A single different round is no drift, wherever it is. */
                {VALUES(10, 11, 10, 11, 10, 11, 10, 99), VALUES(99, 10, 11, 10, 11, 10, 11, 10), 1},
                {VALUES(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), VALUES(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), 9 / 1.5},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                assert_near(i, stats_wander(&table[i].a, &table[i].b), table[i].want);
                assert_near(i, stats_wander(&table[i].b, &table[i].a), table[i].want);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(summaries), cmocka_unit_test(runs_that_count), cmocka_unit_test(directions),
                cmocka_unit_test(figures),   cmocka_unit_test(rank_test),       cmocka_unit_test(many_ranks),
                cmocka_unit_test(intervals), cmocka_unit_test(sides),           cmocka_unit_test(wander),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
