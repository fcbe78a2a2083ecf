/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The output of fio 3.1 to 3.39 for the same questions (fio/README.md), and the figures from it. There are separate jobs, a mixed
 * group after a flush, a ramp, an error, and two machines. Another program calculated the expected figures from the same text, by
 * sums, times and the highest percentiles.
 */
#include "recorded.h"

#include "bench/tell/verdict.h"

/* Sides: bytes, I/Os, both per second, mean, 50, 95 and 99 %, slat, clat (0: not compared). */
static void machine(void **state)
{
        static const struct recorded rows[] = {
                /* clang-format off */
                {"recorded-3.1-apart.json", 3, 8, 87000, {3145728, 768, 36157793.1, 8827.58621, 1991080.38, 423936, 9502720, 56360960, 5477.04036, 1985543.81868},
                  {}, 0.97265625, 0},
                {"recorded-3.1-mixed.json", 2, 16, 625000, {1273856, 311, 2038169.6, 497.6, 25791742.2, 15269888, 141557760, 158334976, 234909.318},
                  {823296, 201, 1317273.6, 321.6, 38691130, 20054016, 158334976, 181403648, 153218.095}, 0.94140625, 0},
                {"recorded-3.1-ramp.json", 1, 4, 1001000, {2056192, 501, 2054137.86, 500.4995, 5596183.47, 99840, 17694720, 105381888, 14832.992},
                  {}, 1, 0},
                {"recorded-3.1-error.json", 1, 1, 0, {0, 1, 0, 0, 0, 0, 0, 0, 0},
                  {}, 1, -22},
                {"recorded-3.16-apart.json", 3, 8, 1046000, {2154496, 526, 2059747.61, 502.868069, 21064939, 50069504, 111673344, 333447168, 394166.306},
                  {}, 0.960076046, 0},
                {"recorded-3.16-mixed.json", 2, 16, 291000, {1273856, 311, 4377512.03, 1068.72852, 14608327, 7766016, 61079552, 121110528, 26917.0193},
                  {823296, 201, 2829195.88, 690.721649, 19318702.4, 8028160, 65273856, 123207680, 6730.33333}, 0.96875, 0},
                {"recorded-3.16-ramp.json", 1, 4, 1061000, {1241088, 300, 1169734.21, 282.752121, 14023951.8, 10027008, 58982400, 152043520, 13000.0033},
                  {}, 0.98, 0},
                {"recorded-3.16-error.json", 1, 1, 0, {0, 1, 0, 0, 0, 0, 0, 0, 0},
                  {}, 1, -22},
                {"recorded-3.25-apart.json", 3, 8, 138000, {3145728, 768, 22795130.4, 5565.21739, 2774607.41, 1449984, 20054016, 24772608, 23216.9219},
                  {}, 0.97265625, 0},
                {"recorded-3.25-mixed.json", 2, 16, 83000, {1273856, 311, 15347662.7, 3746.98795, 3352953.62, 366592, 15532032, 39059456, 8164.6045},
                  {823296, 201, 9919228.92, 2421.68675, 5279563.21, 634880, 24248320, 39059456, 10295.3532}, 0.96875, 0},
                {"recorded-3.25-ramp.json", 1, 4, 1005000, {2039808, 496, 2029659.7, 493.532338, 1607400.96, 240640, 5210112, 22413312, 31341.5302},
                  {}, 0.23790323, 0},
                {"recorded-3.25-error.json", 1, 1, 0, {0, 1, 0, 0, 0, 0, 0, 0, 0},
                  {}, 1, -22},
                {"recorded-3.28-apart.json", 3, 8, 539000, {3145728, 768, 5836230.06, 1424.86085, 15803939, 6127616, 62652416, 106430464, 8085.54167, 15795776.5456},
                  {}, 0.97265625, 0},
                {"recorded-3.28-mixed.json", 2, 16, 1473000, {1273856, 311, 864803.802, 211.133741, 59488034.2, 32112640, 248512512, 299892736, 9294.72026},
                  {823296, 201, 558924.644, 136.456212, 64406044, 32899072, 248512512, 299892736, 393595.831}, 0.96875, 0},
                {"recorded-3.28-ramp.json", 1, 4, 1024000, {655360, 157, 640000, 153.320312, 27984227.8, 5603328, 183500800, 193986560, 15978.2166},
                  {}, 0.98089172, 0},
                {"recorded-3.28-error.json", 1, 1, 0, {0, 1, 0, 0, 0, 0, 0, 0, 0},
                  {}, 1, -22},
                {"recorded-3.36-apart.json", 3, 8, 33000, {3145728, 768, 95325090.9, 23272.7273, 987032.599, 505856, 5079040, 7372800, 5539.09896},
                  {}, 0.97265625, 0},
                {"recorded-3.36-mixed.json", 2, 16, 1448000, {1273856, 311, 879734.807, 214.779006, 70997406.8, 1712128, 346030080, 700448768, 1473716.24},
                  {823296, 201, 568574.586, 138.812155, 79214797.8, 1794048, 346030080, 968884224, 180869.219}, 0.96875, 0},
                {"recorded-3.36-ramp.json", 1, 4, 1684000, {53248, 10, 31619.9525, 5.93824228, 464236360, 258998272, 1132462080, 1132462080, 24055445},
                  {}, 1, 0},
                {"recorded-3.36-error.json", 1, 1, 0, {0, 1, 0, 0, 0, 0, 0, 0, 0},
                  {}, 1, -22},
                {"recorded-3.39-apart.json", 3, 8, 380000, {3145728, 768, 8278231.58, 2021.05263, 9604801.23, 7438336, 32112640, 101187584, 9007.72786},
                  {}, 0.97265625, 0},
                {"recorded-3.39-mixed.json", 2, 16, 112000, {1273856, 311, 11373714.3, 2776.78571, 4201344.1, 1990656, 27918336, 30801920, 6932.24116},
                  {823296, 201, 7350857.14, 1794.64286, 5632422.73, 3522560, 27918336, 31064064, 6827.8806}, 0.94921875, 0},
                {"recorded-3.39-ramp.json", 1, 4, 1018000, {1347584, 326, 1323756.39, 320.235756, 11694938.2, 4227072, 37486592, 254803968, 19391.4479},
                  {}, 0.98773006, 0},
                {"recorded-3.39-error.json", 1, 1, 0, {0, 1, 0, 0, 0, 0, 0, 0, 0},
                  {}, 1, -22},
                /* clang-format on */
        };

        assert_recorded(rows, ELEMENTSOF(rows), false);
}

static void machines(void **state)
{
        static const struct {
                const char *file, *hosts[2];
                uint64_t runtime_usec;
                struct bench_side read;
        } rows[] = {
                /* clang-format off */
                {"recorded-3.1-clients.json", {"127.0.0.1:8771", "127.0.0.1:8772"}, 81000, {2097152, 512, 25890765.4, 6320.98765, 2978876.88, 561152, 35913728, 44826624, 7536.1875}},
                {"recorded-3.16-clients.json", {"127.0.0.1:8771", "127.0.0.1:8772"}, 1258000, {2097152, 512, 1667052.46, 406.995231, 52581389.7, 46923776, 287309824, 287309824, 10408.791}},
                {"recorded-3.25-clients.json", {"127.0.0.1:8772", "127.0.0.1:8771"}, 65000, {2097152, 512, 32263876.9, 7876.92308, 3059494.26, 2113536, 21102592, 29229056, 8072.33203}},
                {"recorded-3.39-clients.json", {"127.0.0.1:8771", "127.0.0.1:8772"}, 319000, {2097152, 512, 6574144.2, 1605.01567, 12290457.8, 6389760, 63700992, 90701824, 129280.416}},
                /* clang-format on */
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_free_ char *text = recorded_read(rows[i].file);
                struct bench_run runs[3];

                assert_row(i, fio_parse(text, 2, 2, 8, runs) == 2);
                assert_row(i, !*runs[0].host && runs[0].runtime_usec == rows[i].runtime_usec);
                assert_side(rows[i].file, &runs[0].read, &rows[i].read);
                for (size_t k = 0; k < 2; k++)
                        assert_row(i, streq(runs[k + 1].host, rows[i].hosts[k]));
                assert_row(i, runs[1].read.ios + runs[2].read.ios == runs[0].read.ios);
        }
}

/* Syncs of two jobs. They are not among the reads and writes. */
static void syncs(void **state)
{
        static const struct bench_side want = {0, 47, 0, 348.148148, 2647091.72, 1744896, 9109504, 9633792, 0};
        _cleanup_free_ char *text = recorded_read("recorded-3.33-sync.json"), *none = recorded_read("recorded-3.33-apart.json");
        struct bench_run run;

        assert_int_equal(fio_parse(text, 0, 1, 1, &run), 0);
        assert_side("sync", &run.sync, &want);
        assert_int_equal(run.read.ios, 156 + 155);
        assert_int_equal(run.write.ios, 100 + 101);
        assert_int_equal(fio_parse(none, 0, 1, 8, &run), 0);
        assert_side("none", &run.sync, &(struct bench_side){});
}

/* With a sync after every tenth write, fio 3.33 also syncs with each read. Its own figures show that. */
static void synced_too_often(void **state)
{
        static const struct {
                unsigned fsync, fdatasync;
                bool doubted;
        } rows[] = {
                {10, 0, true}, {0, 10, true}, {0, 0, false}, {4, 0, false}, {10, 6, false}, {1000, 0, true}, {5, 0, false},
        };
        _cleanup_free_ char *text = recorded_read("recorded-3.33-sync.json");
        struct bench_run run;

        assert_int_equal(fio_parse(text, 0, 2, 1, &run), 0);
        run.driver = DRIVER_UAS;
        run.round = 1;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                struct bench_pattern p = {.block_size = 4096,
                                          .numjobs = 2,
                                          .read_percent = 60,
                                          .random = true,
                                          .iodepth = 1,
                                          .sync_engine = true,
                                          .fsync = rows[i].fsync,
                                          .fdatasync = rows[i].fdatasync};
                struct bench b = {.patterns = &p, .n_patterns = 1, .runs = &run, .n_runs = 1};
                struct doubts doubts;

                assert_row(i, !!(doubts_of(&b, 0, DRIVER_UAS, &doubts) & 1U << DOUBT_SYNCS) == rows[i].doubted);
                if (i == 0)
                        assert_non_null(strstr(doubts.text[DOUBT_SYNCS], "synced 47 times instead of 20: "));
        }
}

/* For fdatasync, 3.33 prints the latency and the count, but not in the field of fsync. */
static void data_syncs(void **state)
{
        static const char text[] =
                "{\"jobs\" : [{\"write\" : {\"total_ios\" : 1707, \"io_bytes\" : 27967488, \"runtime\" : 2000},"
                " \"sync\" : {\"total_ios\" : 0, \"lat_ns\" : {\"mean\" : 3038633.8, \"N\" : 95}}}]}";
        struct bench_run run;

        assert_int_equal(fio_parse(text, 0, 1, 1, &run), 0);
        assert_side("fdatasync", &run.sync, &(struct bench_side){0, 95, 0, 47.5, 3038633.8, 0, 0, 0, 0});
        assert_int_equal(run.write.ios, 1707);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(machine),          cmocka_unit_test(machines),   cmocka_unit_test(syncs),
                cmocka_unit_test(synced_too_often), cmocka_unit_test(data_syncs),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
