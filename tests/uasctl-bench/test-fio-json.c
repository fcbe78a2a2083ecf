/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The output of fio, and the figures from it. fio/recorded-3.33-*.json are from that version, without slat and lat
 * (fio/README.md). test-fio-recorded.c has other versions.
 */
#include "recorded.h"

#define SIDE(bytes, ios, rate, iops, mean, ...)                                                                                  \
        {                                                                                                                        \
                bytes, ios, rate, iops, mean, __VA_ARGS__                                                                        \
        }

static void versions(void **state)
{
        static const struct recorded rows[] = {
                /* clang-format off */
                {"recorded-3.33-grouped.json", 4, 32, 225000, SIDE(67108864, 16384, 298261618, 72817.7778, 1727644.99, 1564672, 2736128, 7372800),
                  {}, 0.99243164, 0, 34.157304},
                /* Without group_reporting: three entries, and the highest of their percentiles. */
                {"recorded-3.33-apart.json", 3, 32, 10000, SIDE(3145728, 768, 314572800, 76800, 1161782.66, 1155072, 1826816, 1875968),
                  {}, 0.87890625, 0, 33.333333},
                {"recorded-3.33-apart-plain.json", 3, 8, 127000, SIDE(3145728, 768, 24769511.8, 6047.24409, 3626704.94, 3948544, 8355840, 8716288),
                  {}, 0.97265625, 0, 3.394384},
                /* A note before the document, depth levels above 100 %. */
                {"recorded-3.33-mixed.json", 1, 1, 468000, SIDE(4767744, 291, 10187487.2, 621.794872, 1420738.74, 724992, 4358144, 6062080),
                  SIDE(3620864, 221, 7736888.89, 472.222222, 10641.7421, 8640, 27008, 39680), 1, 0, 3.426124},
                {"recorded-3.33-error.json", 1, 1, 0, SIDE(0, 1, 0, 0, 0, 0, 0, 0), {}, 1, -EINVAL, 0},
                {"recorded-3.33-ramp.json", 1, 4, 1001000, SIDE(589365248, 8989, 588776472, 8980.01998, 433466.511, 264192, 1011712, 4046848),
                  {}, 1, 0, 12.9},
                /* clang-format on */
        };

        assert_recorded(rows, ELEMENTSOF(rows), true);
}

#define JOB(more) "{\"jobname\":\"a\",\"error\":0," more "}"
#define READ(bytes, ios, ms, mean, more)                                                                                         \
        "\"read\":{\"io_bytes\":" #bytes ",\"total_ios\":" #ios ",\"runtime\":" #ms                                              \
        ",\"bw\":1,\"iops\":7.5,\"clat_ns\":{\"mean\":" #mean more "}}"
#define PERCENTILES(a, b, c) ",\"percentile\":{\"50.000000\":" #a ",\"95.000000\":" #b ",\"99.000000\":" #c "}"

#define LATENCY(which, mean, a, b, c) ",\"" which "_ns\":{\"mean\":" #mean PERCENTILES(a, b, c) "}"

/* Sums and rates over jobs. */
static void arithmetic(void **state)
{
        static const struct {
                const char *jobs;
                struct bench_side read;
        } rows[] = {
                /* clang-format off */
                {JOB(READ(1000000, 10, 1000, 5, "")), SIDE(1000000, 10, 1000000, 10, 5, 0, 0, 0)},
                /* Two at once: the sum of their bytes, by the common time. */
                {JOB(READ(1000000, 10, 1000, 5, "")) "," JOB(READ(3000000, 30, 1000, 9, "")), SIDE(4000000, 40, 4000000, 40, 8, 0, 0, 0)},
                /* One ends earlier: the sum of both rates would be 3,000,000. */
                {JOB(READ(1000000, 10, 500, 5, "")) "," JOB(READ(1000000, 10, 1000, 5, "")), SIDE(2000000, 20, 2000000, 20, 5, 0, 0, 0)},
                /* A job that did nothing changes nothing. */
                {JOB(READ(1000000, 10, 1000, 5, PERCENTILES(1, 2, 3))) "," JOB(READ(0, 0, 0, 0, PERCENTILES(9, 9, 9))),
                  SIDE(1000000, 10, 1000000, 10, 5, 1, 2, 3)},
                /* Too short for a runtime: fio's own rates. Version 3.1 has only KiB. */
                {JOB(READ(4096, 1, 0, 5, "")) "," JOB(READ(4096, 1, 0, 5, "")), SIDE(8192, 2, 2048, 15, 5, 0, 0, 0)},
                /* Percentiles of jobs cannot be averaged. The highest is a bound. */
                {JOB(READ(10, 10, 1000, 5, PERCENTILES(10, 20, 30))) "," JOB(READ(10, 10, 1000, 5, PERCENTILES(11, 19, 31))),
                  SIDE(20, 20, 20, 20, 5, 11, 20, 31)},
                /* Latency from the submission on, if fio has it. Version 3.1 has the percentiles of lat under clat. */
                {JOB("\"read\":{\"io_bytes\":10,\"total_ios\":10,\"runtime\":1000,\"slat_ns\":{\"mean\":19}" LATENCY("clat", 6, 1, 2, 3)
                              LATENCY("lat", 25, 10, 20, 30) "}"),
                  SIDE(10, 10, 10, 10, 25, 10, 20, 30, 19)},
                {JOB("\"read\":{\"io_bytes\":10,\"total_ios\":10,\"runtime\":1000,\"slat_ns\":{\"mean\":19}" LATENCY(
                              "clat", 6, 10, 20, 30) ",\"lat_ns\":{\"mean\":25}}"),
                  SIDE(10, 10, 10, 10, 25, 10, 20, 30, 19)},
                /* No numbers, or impossible ones: the result is empty, without an error. */
                {"{}", {}},
                {"null", {}},
                {JOB("\"read\":7"), {}},
                {JOB(READ(-5, 10, -1, 5, "")), SIDE(0, 10, 1024, 7.5, 5, 0, 0, 0)},
                /* clang-format on */
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                char text[4096];
                struct bench_run run;

                (void) snprintf(text, sizeof(text), "{\"jobs\":[%s]}", rows[i].jobs);
                assert_row(i, fio_parse(text, 0, 1, 1, &run) == 0);
                assert_side(rows[i].jobs, &run.read, &rows[i].read);
                assert_row(i, run.write.ios == 0);
        }
}

static void depths(void **state)
{
        static const struct {
                unsigned depth;
                const char *levels;
                double share;
        } rows[] = {
                {1, "\"1\":100.0", 1},
                {32, "\"1\":0.1,\"16\":1.0,\"32\":98.9", 0.989},
                /* Levels are powers of two: a depth of 24 counts at 16 to 31. */
                {24, "\"16\":60.0,\"32\":40.0", 1},
                {256, "\"32\":75.0,\">=64\":25.0", 0.25},
                {32, "\"1\":100.0", 0},
                {1, "\"1\":102.34", 1}, /* with fsync fio counts more requests than it has issued */
                {8, "\"4\":-3.0", 0},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                struct bench_run run;
                char text[512];

                (void) snprintf(text, sizeof(text), "{\"jobs\":[" JOB(READ(1, 1, 1, 1, "") ",\"iodepth_level\":{%s}") "]}",
                                rows[i].levels);
                assert_row(i, fio_parse(text, 0, 1, rows[i].depth, &run) == 0);
                assert_row(i, near(run.depth_share, rows[i].share));
        }
}

/* Text around the document, and text that is no document. */
static void texts(void **state)
{
        static const struct {
                const char *text;
                int r;
                uint64_t ios;
        } rows[] = {
                {"{\"jobs\":[" JOB(READ(1, 1, 1, 1, "")) "]}", 0, 1},
                {"note: both iodepth >= 1 and {braces}\n{what is this\n{\"jobs\":[" JOB(READ(1, 2, 1, 1, "")) "]}\nfio: bye {\n",
                 0, 2},
                {"{\"jobs\":[" JOB("\"x\" : -nan,\"y\" : inf,\"s\" : \"nan\"," READ(1, 3, 1, 1, "")) "]}", 0, 3},
                {"", -EBADMSG, 0},
                {"fio: failed\n", -EBADMSG, 0},
                {"{\"jobs\":[" JOB(READ(1, 1, 1, 1, "")), -EBADMSG, 0},
                {"{}", -EBADMSG, 0},
                {"{\"jobs\":[]}", -EBADMSG, 0},
                {"{\"jobs\":{}}", -EBADMSG, 0},
                {"[]\n", -EBADMSG, 0},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                struct bench_run run = {};

                assert_row(i, fio_parse(rows[i].text, 0, 1, 1, &run) == rows[i].r);
                assert_row(i, run.read.ios == rows[i].ios);
        }
}

static void clients(void **state)
{
        _cleanup_free_ char *text = recorded_read("recorded-3.33-clients.json");
        struct bench_run runs[3];

        assert_int_equal(fio_parse(text, 2, 2, 8, runs), 2);
        assert_string_equal(runs[0].host, "");
        assert_string_equal(runs[1].host, "127.0.0.1:8772");
        assert_string_equal(runs[2].host, "127.0.0.1:8771");
        assert_int_equal(runs[1].read.bytes, 302206976);
        assert_int_equal(runs[2].read.bytes, 289251328);
        /* fio's own sum: 591458304 bytes, 144399 I/Os, 295581361 bytes and 72163.418291 I/Os a second. */
        assert_int_equal(runs[0].read.bytes, 591458304);
        assert_int_equal(runs[0].read.ios, 144399);
        assert_int_equal((uint64_t) runs[0].read.bytes_per_sec, 295581361);
        assert_true(near(runs[0].read.iops, 72163.418291));
        /* fio prints no percentiles of all jobs. None can be above the highest. */
        assert_int_equal(runs[0].read.p50_ns, 370688);
        assert_int_equal(runs[0].read.p95_ns, 593920);
        assert_int_equal(runs[0].read.p99_ns, 3358720);
        /* 0.9625 + 10.1625 on average of four jobs */
        assert_true(near(runs[0].cpu_percent, 44.5));

        assert_int_equal(fio_parse(text, 1, 2, 8, runs), -EBADMSG);
        assert_int_equal(fio_parse("{\"client_stats\":[]}", 2, 2, 8, runs), -EBADMSG);
        assert_int_equal(fio_parse("{\"client_stats\":[{\"jobname\":\"All clients\"}]}", 2, 2, 8, runs), -EBADMSG);
        assert_int_equal(fio_parse("{\"client_stats\":[7]}", 2, 2, 8, runs), -EBADMSG);
        assert_int_equal(fio_parse("{\"jobs\":[{}]}", 2, 2, 8, runs), -EBADMSG);
}

static void hosts(void **state)
{
        static const struct {
                const char *text, *list;
        } rows[] = {
                {"nas", "nas,8765"},
                {"nas,10.0.0.2:9000", "nas,8765 10.0.0.2,9000"},
                {"[fe80::1%eth0]:9000,[::1]", "ip6:fe80::1%eth0,9000 ip6:::1,8765"},
                {"a,b,c,d", "a,8765 b,8765 c,8765 d,8765"},
                {"", NULL},
                {"a,", NULL},
                {"a,a", NULL}, /* this machine would count twice */
                {"a:0", NULL},
                {"a:65536", NULL},
                {"a:x", NULL},
                {"-x", NULL}, /* not an option of fio */
                {"a b", NULL},
                {"sock:/tmp/x", NULL},
                {"::1", NULL},
                {"[::1", NULL},
                {"[::1]9", NULL},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                char **list = NULL, joined[256] = "";
                int r = hosts_parse(rows[i].text, &list);

                assert_row(i, r == (rows[i].list ? 0 : -EINVAL));
                for (char **p = list; p && *p; p++)
                        (void) snprintf(joined + strlen(joined), sizeof(joined) - strlen(joined), "%s%s", p == list ? "" : " ",
                                        *p);
                if (rows[i].list)
                        assert_string_equal(joined, rows[i].list);
                strv_free(list);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(versions), cmocka_unit_test(arithmetic), cmocka_unit_test(depths),
                cmocka_unit_test(texts),    cmocka_unit_test(clients),    cmocka_unit_test(hosts),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
