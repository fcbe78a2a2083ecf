/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The patterns in a table by number of jobs or clients, and their places. */
#include "samples.h"

#include "bench/tell/grid.h"

struct row {
        const char *rw;
        uint64_t block_size;
        unsigned numjobs, axis;
        const char *engine;
};

static struct bench bench_of(const struct row *rows, size_t n, enum bench_axis axis)
{
        struct bench b = sample_bench();

        b.axis = axis;
        for (size_t i = 0; i < n; i++) {
                unsigned p = sample_pattern(&b, "p", rows[i].rw, rows[i].block_size, 1);

                b.patterns[p].numjobs = rows[i].numjobs;
                b.patterns[p].axis = rows[i].axis;
                b.patterns[p].sync_engine = true;
                (void) copy_string(b.patterns[p].engine, sizeof(b.patterns[p].engine), rows[i].engine ?: "psync");
        }
        return b;
}

#define BENCH_OF(axis, ...)                                                                                                      \
        bench_of((const struct row[]){__VA_ARGS__}, sizeof((const struct row[]){__VA_ARGS__}) / sizeof(struct row), axis)

/* The whole grid in one text, such as "1 4 | reads: 0 1; writes: 2 -". */
static const char *drawn(const struct bench *b, char ret[static 1024])
{
        char text[GRID_TEXT_MAX];
        struct grid g;
        size_t used = 0;

        grid_make(b, &g);
        used += (size_t) snprintf(ret, 1024, "%s", g.n_rows == 0 ? "" : g.by_clients ? "clients" : "jobs");
        for (size_t i = 0; i < g.n_across && g.n_rows > 0; i++)
                used += (size_t) snprintf(ret + used, 1024 - used, " %.0f", g.across[i]);
        for (size_t row = 0; row < g.n_rows; row++) {
                used += (size_t) snprintf(ret + used, 1024 - used, "; %s:", grid_row_text(b, &g, row, text));
                for (size_t i = 0; i < g.n_across; i++)
                        if (g.rows[row].cells[i])
                                used += (size_t) snprintf(ret + used, 1024 - used, " %u", g.rows[row].cells[i] - 1);
                        else
                                used += (size_t) snprintf(ret + used, 1024 - used, " -");
        }
        grid_done(&g);
        return ret;
}

static void places(void **state)
{
        struct {
                struct bench b;
                const char *want;
        } table[] = {
                /* clang-format off */
                {BENCH_OF(BENCH_AXIS_NONE, {"read", 4 * KiB, 1}, {"randread", 4 * KiB, 8}), ""},
                /* in the order of the patterns, columns rising. A pattern with only one number has no place, and its column is
                 * omitted. */
                {BENCH_OF(BENCH_AXIS_NONE, {"randread", 4 * KiB, 16}, {"randread", 4 * KiB, 1},
                          {"read", MiB, 7}, {"read", 128 * KiB, 1}, {"read", 128 * KiB, 4}),
                 "jobs 1 4 16; 4 KiB random reads: 1 - 0; 128 KiB sequential reads: 3 4 -"},
                {BENCH_OF(BENCH_AXIS_NONE, {"read", 4 * KiB, 1}, {"read", 4 * KiB, 4}, {"write", 4 * KiB, 1},
                          {"write", 4 * KiB, 4}, {"read", 8 * KiB, 4}),
                 "jobs 1 4; 4 KiB sequential reads: 0 1; 4 KiB sequential writes: 2 3"},
                /* the same question again */
                {BENCH_OF(BENCH_AXIS_NONE, {"read", 4 * KiB, 1}, {"read", 4 * KiB, 4}, {"read", 4 * KiB, 4},
                          {"read", 4 * KiB, 1}),
                 "jobs 1 4; 4 KiB sequential reads, psync: 0 1; 4 KiB sequential reads, psync: 3 2"},
                /* an engine distinguishes two rows, unless its name is not a word */
                {BENCH_OF(BENCH_AXIS_NONE, {"read", 4 * KiB, 1}, {"read", 4 * KiB, 4},
                          {"read", 4 * KiB, 1, 0, "|x"}, {"read", 4 * KiB, 4, 0, "|x"}),
                 "jobs 1 4; 4 KiB sequential reads, psync: 0 1; 4 KiB sequential reads: 2 3"},
                /* clients form the columns where jobs do not */
                {BENCH_OF(BENCH_AXIS_CLIENTS, {"read", MiB, 2, 1}, {"read", MiB, 2, 2}, {"read", MiB, 2, 4}),
                 "clients 1 2 4; 1 MiB sequential reads with 2 jobs: 0 1 2"},
                {BENCH_OF(BENCH_AXIS_CLIENTS, {"read", MiB, 1, 1}, {"read", MiB, 1, 2}, {"read", MiB, 4, 1},
                          {"read", MiB, 4, 2}),
                 "jobs 1 4; 1 MiB sequential reads, 1 client: 0 2; 1 MiB sequential reads, 2 clients: 1 3"},
                {BENCH_OF(BENCH_AXIS_REGION, {"read", MiB, 1, 4096}, {"read", MiB, 1, 8192}), ""},
                {BENCH_OF(BENCH_AXIS_REGION, {"read", MiB, 1, 4096}, {"read", MiB, 1, 8192},
                          {"read", MiB, 2, 4096}),
                 "jobs 1 2; 1 MiB sequential reads, 4 KiB: 0 2"},
                {BENCH_OF(BENCH_AXIS_JOBS, {"read", MiB, 1, 1}, {"read", MiB, 32, 32}),
                 "jobs 1 32; 1 MiB sequential reads: 0 1"},
                {sample_bench(), ""},
                /* clang-format on */
        };
        char text[1024];

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                assert_string_equal(drawn(&table[i].b, text), table[i].want);
                bench_done(&table[i].b);
        }
}

/* In a sweep each job has its share of one region. Elsewhere patterns with different regions do not share a row. */
static void regions(void **state)
{
        static const struct {
                enum bench_axis axis;
                const char *want;
        } table[] = {
                {BENCH_AXIS_NONE, ""},
                {BENCH_AXIS_JOBS, "jobs 1 4; 1 MiB sequential reads: 0 1"},
        };
        char text[1024];

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                _cleanup_(bench_done) struct bench b = BENCH_OF(table[i].axis, {"read", MiB, 1, 1}, {"read", MiB, 4, 4});

                b.patterns[1].size /= 4;
                assert_string_equal(drawn(&b, text), table[i].want);
        }
}

/* The grid has no more columns than there is room for, and each pattern is in its column. */
static void many(void **state)
{
        _cleanup_(bench_done) struct bench b = sample_bench();
        struct grid g;

        for (unsigned n = 2 * GRID_ACROSS_MAX; n > 0; n--) {
                unsigned p = sample_pattern(&b, "p", "read", MiB, 1);

                b.patterns[p].numjobs = n;
        }
        grid_make(&b, &g);
        assert_int_equal(g.n_across, GRID_ACROSS_MAX);
        assert_int_equal(g.n_rows, 1);
        for (size_t i = 0; i < g.n_across; i++)
                assert_int_equal(b.patterns[g.rows[0].cells[i] - 1].numjobs, (unsigned) g.across[i]);
        grid_done(&g);
}

static void figures(void **state)
{
        _cleanup_(bench_done) struct bench b = BENCH_OF(BENCH_AXIS_NONE, {"read", 100000, 1}, {"read", 100000, 4});
        static const struct {
                size_t column;
                enum driver d;
                enum stats_measure m;
                const char *want;
        } table[] = {
                {0, DRIVER_UAS, STATS_BYTES, "94.6"},           {0, DRIVER_UAS, STATS_IOPS, "946"},
                {0, DRIVER_UAS, STATS_MEAN, "1.06 ms"},         {0, DRIVER_USB_STORAGE, STATS_BYTES, "-"},
                {1, DRIVER_USB_STORAGE, STATS_IOPS, "20.0k"},   {1, DRIVER_USB_STORAGE, STATS_BYTES, "2000"},
                {1, DRIVER_USB_STORAGE, STATS_MEAN, "50.0 us"}, {1, DRIVER_UAS, STATS_MEAN, "-"},
        };
        enum driver drivers[_DRIVER_MAX];
        char text[UNIT_TEXT_MAX];
        struct grid g;

        SAMPLE_RUNS(&b, 0, DRIVER_UAS, 94.6 * MB, 90 * MB, 99 * MB);
        SAMPLE_RUNS(&b, 1, DRIVER_USB_STORAGE, 2000 * MB);
        sample_run(&b, 1, DRIVER_UAS, 0)->error = -EIO;
        grid_make(&b, &g);
        assert_int_equal(grid_drivers(&b, &g, 0, drivers), 2);
        assert_int_equal(drivers[0], DRIVER_USB_STORAGE);
        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                assert_string_equal(grid_cell_text(&b, &g, 0, table[i].column, table[i].d, table[i].m, false, text),
                                    table[i].want);
        grid_done(&g);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(places),
                cmocka_unit_test(regions),
                cmocka_unit_test(many),
                cmocka_unit_test(figures),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
