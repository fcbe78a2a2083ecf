/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lists of patterns of a sweep, and the shares of a region. */
#include "../unit/unit.h"
#include "bench/measure/fio.h"
#include "bench/measure/profile.h"

#define KIB 1024ULL
#define GIB (1ULL << 30)

static void sweeps(void **state)
{
        static const struct {
                enum bench_axis axis;
                unsigned depth, jobs;
                uint64_t size, available;
                bool sync;
                int r;
                size_t n;
                uint64_t last, region; /* bytes that the last pattern works on */
                const char *name;
        } rows[] = {
                {BENCH_AXIS_DEPTH, 8, 1, GIB, 4 * GIB, false, 0, 6, 32, GIB, "P depth=32"},
                {BENCH_AXIS_DEPTH, 8, 1, GIB, 4 * GIB, true, -EOPNOTSUPP, 0, 0, 0, NULL},
                {BENCH_AXIS_JOBS, 8, 1, GIB, 4 * GIB, false, 0, 6, 32, GIB, "P jobs=32"},
                /* Four of 1 GiB each: 4 GiB for all patterns, whatever their number of jobs. */
                {BENCH_AXIS_JOBS, 1, 4, GIB, 16 * GIB, true, 0, 6, 32, 4 * GIB, "P jobs=32"},
                {BENCH_AXIS_JOBS, 1, 1, 0, 8 * GIB, true, 0, 6, 32, 8 * GIB, "P jobs=32"},
                /* Room for only two blocks. */
                {BENCH_AXIS_JOBS, 1, 1, 0, 8 * KIB, true, 0, 2, 2, 8 * KIB, "P jobs=2"},
                {BENCH_AXIS_REGION, 8, 1, GIB, 100 * GIB, false, 0, 7, 10 * GIB, 10 * GIB, "P region=10G"},
                {BENCH_AXIS_REGION, 8, 4, GIB, 6 * GIB, false, 0, 5, 5 * GIB, 5 * GIB, "P region=5G"},
                {BENCH_AXIS_REGION, 8, 1, GIB, GIB / 4, false, 0, 1, GIB / 4, GIB / 4, "P region=256M"},
                {BENCH_AXIS_REGION, 8, 1, GIB, GIB / 8, false, -ENOSPC, 0, 0, 0, NULL},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                struct bench_pattern p = {.name = "P",
                                          .rw = "randread",
                                          .engine = "x",
                                          .block_size = 4 * KIB,
                                          .size = rows[i].size,
                                          .iodepth = rows[i].depth,
                                          .numjobs = rows[i].jobs,
                                          .read_percent = 100,
                                          .sync_engine = rows[i].sync};
                struct bench_pattern points[SWEEP_VALUES_MAX];
                const struct bench_pattern *last;
                struct sweep s = {};
                const char *word;
                int n;

                assert_row(i, sweep_parse(bench_axes[rows[i].axis], &s, &word) == 0 && !s.listed);
                n = sweep_make(&p, &s, rows[i].available, points);
                assert_row(i, n == (rows[i].r < 0 ? rows[i].r : (int) rows[i].n));
                if (n <= 0)
                        continue;
                last = &points[n - 1];
                assert_row(i, last->axis == (double) rows[i].last && streq(last->name, rows[i].name));
                assert_row(i, fio_region(last, rows[i].available) == rows[i].region);
                assert_row(i, rows[i].axis == BENCH_AXIS_DEPTH ? last->iodepth == rows[i].last : last->iodepth == rows[i].depth);
                assert_row(i, rows[i].axis == BENCH_AXIS_JOBS ? last->numjobs == rows[i].last : last->numjobs == rows[i].jobs);
                assert_row(i, streq(last->rw, "randread") && last->block_size == 4 * KIB && last->read_percent == 100);
        }
}

/* Lists are taken as they are. No entry is dropped without an error. */
static void lists(void **state)
{
        static const struct {
                const char *text;
                int r;
                enum bench_axis axis;
                uint64_t values[3];
                size_t n;
                const char *word;
        } rows[] = {
                /* clang-format off */
                {"depth", 0, BENCH_AXIS_DEPTH, {1, 2, 4}, 6, NULL},
                {"depth=3", 0, BENCH_AXIS_DEPTH, {3}, 1, NULL},
                {"jobs=32,5,1", 0, BENCH_AXIS_JOBS, {1, 5, 32}, 3, NULL},
                {"region=1G,256M", 0, BENCH_AXIS_REGION, {GIB / 4, GIB}, 2, NULL},
                {"region=20g", 0, BENCH_AXIS_REGION, {20 * GIB}, 1, NULL},
                {"runtime", 0, BENCH_AXIS_RUNTIME, {5, 10, 20}, 3, NULL},
                {"ramp", 0, BENCH_AXIS_RAMP, {0, 5, 10}, 3, NULL},
                {"ramp=7,0", 0, BENCH_AXIS_RAMP, {0, 7}, 2, NULL},
                {"runtime=0", -ERANGE, 0, {}, 0, "0"},
                {"ramp=3601", -ERANGE, 0, {}, 0, "3601"},
                {"depth=1,64", -ERANGE, 0, {}, 0, "64"},
                {"depth=0,1", -ERANGE, 0, {}, 0, "0,1"},
                {"region=1023K", -ERANGE, 0, {}, 0, "1023K"},
                {"jobs=4,8,4", -EEXIST, 0, {}, 0, "4"},
                {"region=1024M,1G", -EEXIST, 0, {}, 0, "1G"},
                {"depth=", -EINVAL, 0, {}, 0, ""},
                {"depth=4,", -EINVAL, 0, {}, 0, ""},
                {"depth=4,,8", -EINVAL, 0, {}, 0, ",8"},
                {"depth=four", -EINVAL, 0, {}, 0, "four"},
                {"depth=4 8", -EINVAL, 0, {}, 0, "4 8"},
                {"depth=1k", -EINVAL, 0, {}, 0, "1k"},
                {"depth=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33", -ERANGE, 0, {}, 0, "33"},
                {"colour", -EINVAL, 0, {}, 0, NULL},
                {"", -EINVAL, 0, {}, 0, NULL},
                {"=1", -EINVAL, 0, {}, 0, NULL},
                {"d=1", -EINVAL, 0, {}, 0, NULL},
                {"none", -EINVAL, 0, {}, 0, NULL},
                {"clients", -EINVAL, 0, {}, 0, NULL},
                {"a-word-that-is-no-axis=1", -EINVAL, 0, {}, 0, NULL},
                /* clang-format on */
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                struct sweep q = {};
                const char *word = "untouched";

                assert_row(i, sweep_parse(rows[i].text, &q, &word) == rows[i].r);
                assert_row(i, q.n == rows[i].n);
                for (size_t n = 0; n < ELEMENTSOF(rows[i].values) && n < q.n; n++)
                        assert_row(i, q.values[n] == rows[i].values[n]);
                assert_row(i, rows[i].r < 0 || q.axis == rows[i].axis);
                assert_row(i, !rows[i].word == !word && (!word || streq(word, rows[i].word)));
        }
}

static void listed_points(void **state)
{
        static const struct {
                const char *text;
                uint64_t available;
                int r;
                size_t n;
                const char *first, *last;
        } rows[] = {
                {"depth=3,5", GIB, 0, 2, "P depth=3", "P depth=5"},
                {"jobs=7", GIB, 0, 1, "P jobs=7", "P jobs=7"},
                {"region=1536K,1M,2M,20G", 40 * GIB, 0, 4, "P region=1M", "P region=20G"},
                {"region=1536K", 40 * GIB, 0, 1, "P region=1572864", "P region=1572864"},
                /* The usual list ends where the room ends. For a list of the user this is an error. */
                {"region", GIB, 0, 3, "P region=256M", "P region=1G"},
                {"region=1G,2G", GIB, -ENOSPC, 0, NULL, NULL},
                {"jobs=1,3", 8 * KIB, -ENOSPC, 0, NULL, NULL},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                struct bench_pattern p = {.name = "P",
                                          .rw = "randread",
                                          .engine = "x",
                                          .block_size = 4 * KIB,
                                          .iodepth = 8,
                                          .numjobs = 1,
                                          .read_percent = 100};
                struct bench_pattern points[SWEEP_VALUES_MAX];
                struct sweep s;
                const char *word;
                int n;

                assert_row(i, sweep_parse(rows[i].text, &s, &word) == 0);
                n = sweep_make(&p, &s, rows[i].available, points);
                assert_row(i, n == (rows[i].r < 0 ? rows[i].r : (int) rows[i].n));
                if (n > 0)
                        assert_row(i, streq(points[0].name, rows[i].first) && streq(points[n - 1].name, rows[i].last));
        }
}

static void regions(void **state)
{
        static const struct {
                uint64_t block, size, available;
                unsigned jobs;
                uint64_t each;
        } rows[] = {
                /* clang-format off */
                {4 * KIB, GIB, 4 * GIB, 1, GIB},
                {4 * KIB, GIB, 4 * GIB, 8, GIB / 2},
                {4 * KIB, 0, 4 * GIB, 4, GIB},
                {1024 * KIB, 0, GIB + 5, 1, GIB},
                {1024 * KIB, 0, GIB, 3, 341 * 1024 * KIB},
                {1024 * KIB, 0, 1024 * KIB, 2, 0},
                {4 * KIB, GIB, 0, 1, 0},
                /* clang-format on */
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                struct bench_pattern p = {.block_size = rows[i].block, .size = rows[i].size, .numjobs = rows[i].jobs};

                assert_row(i, fio_region_each(&p, rows[i].available) == rows[i].each);
                assert_row(i, fio_region(&p, rows[i].available) == rows[i].each * rows[i].jobs);
        }
}

static void machines(void **state)
{
        static const struct {
                size_t n, count;
                uint64_t steps[7];
        } rows[] = {
                {0, 1, {}},        {1, 1, {1}},          {2, 2, {1, 2}},
                {3, 3, {1, 2, 3}}, {8, 4, {1, 2, 4, 8}}, {64, 7, {1, 2, 4, 8, 16, 32, 64}},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                struct sweep s = sweep_clients(rows[i].n);
                struct bench_pattern p = {.name = "P", .numjobs = 1, .block_size = 4 * KIB}, points[SWEEP_VALUES_MAX];
                char name[32] = "P";

                assert_row(i, s.axis == (rows[i].n ? BENCH_AXIS_CLIENTS : BENCH_AXIS_NONE) && s.n == rows[i].count);
                assert_row(i, memcmp(s.values, rows[i].steps, sizeof(rows[i].steps)) == 0);
                if (rows[i].n)
                        (void) snprintf(name, sizeof(name), "P clients=%zu", rows[i].n);
                assert_row(i, sweep_make(&p, &s, GIB, points) == (int) s.n && streq(points[s.n - 1].name, name));
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(sweeps), cmocka_unit_test(lists), cmocka_unit_test(listed_points),
                                           cmocka_unit_test(regions), cmocka_unit_test(machines)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
