/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A result that was written is read back. Other text is refused. */
#include "samples.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "bench/tell/tell.h"
#include "term/json.h"

static char *text_of(const struct bench *b)
{
        json_object *o = bench_json(b);
        char *text;

        assert_non_null(o);
        text = json_text(o);
        assert_non_null(text);
        json_object_put(o);
        return text;
}

static void check_same(const struct bench *b)
{
        _cleanup_(bench_done) struct bench again = {};
        _cleanup_free_ char *text = text_of(b), *second = NULL;

        assert_int_equal(bench_json_parse(text, strlen(text), &again), 0);
        second = text_of(&again);
        assert_string_equal(text, second);
        assert_int_equal(again.n_runs, b->n_runs);
        assert_int_equal(again.n_patterns, b->n_patterns);
}

static void round_trip(void **state)
{
        _cleanup_(bench_done) struct bench none = {}, plain = sample_bench(), full = sample_full(), again = {};
        _cleanup_free_ char *text = NULL;

        check_same(&none);
        check_same(&plain);
        check_same(&full);
        full.patterns[0].size = UINT64_MAX;
        full.runs[1].read.bytes = UINT64_MAX;
        full.runs[1].read.bytes_per_sec = 1.0 / 3;
        full.single = true;
        check_same(&full);

        /* The members are compared one by one, because a comparison of the texts could hide a mistake that was made twice. */
        text = text_of(&full);
        assert_int_equal(bench_json_parse(text, strlen(text), &again), 0);
        assert_string_equal(again.id, full.id);
        assert_string_equal(again.profile, "cdm");
        assert_int_equal(again.axis, BENCH_AXIS_DEPTH);
        assert_int_equal(again.started_usec, full.started_usec);
        assert_true(again.interrupted && again.finding.found && again.single);
        assert_int_equal(again.finding.driver, DRIVER_UAS);
        assert_int_equal(again.finding.run, full.finding.run);
        assert_string_equal(again.finding.what, full.finding.what);
        assert_string_equal(again.conditions.model, "ACME Rotor 4000");
        assert_string_equal(again.conditions.queues[DRIVER_UAS].scheduler, "mq-deadline");
        assert_string_equal(again.conditions.queues[DRIVER_NONE].scheduler, "");
        assert_int_equal(again.conditions.queues[DRIVER_UAS].queue_depth, 30);
        assert_int_equal(again.conditions.queues[DRIVER_USB_STORAGE].queue_depth, 1);
        assert_int_equal(again.conditions.disk_size, full.conditions.disk_size);
        assert_true(again.conditions.rotational);
        assert_string_equal(again.patterns[4].rw, "randrw");
        assert_int_equal(again.patterns[4].read_percent, 50);
        assert_true(again.patterns[4].sync_engine && again.patterns[4].random && again.patterns[4].direct);
        assert_int_equal(again.patterns[0].size, UINT64_MAX);
        assert_true(again.patterns[4].fsync == 40 && again.patterns[4].fdatasync == 80 && again.patterns[0].fsync == 0);
        assert_int_equal(again.runs[1].read.bytes, UINT64_MAX);
        assert_true(again.runs[1].read.bytes_per_sec == 1.0 / 3);
        assert_int_equal(again.runs[8].read.p99_ns, full.runs[8].read.p99_ns);
        assert_true(again.runs[8].read.slat_mean_ns > 0 && again.runs[8].read.slat_mean_ns == full.runs[8].read.slat_mean_ns);
        assert_string_equal(again.runs[full.n_runs - 2].host, "nas2:8765");
        assert_int_equal(again.runs[full.n_runs - 1].error, -EIO);
        assert_true(again.runs[full.n_runs - 1].other_bytes_per_sec < 0);
        assert_true(again.runs[full.n_runs - 1].device_read_bytes == 4096 && again.runs[0].device_read_bytes < 0);
        assert_true(again.runs[full.n_runs - 1].device_written_bytes == 8192);
        assert_true(again.runs[full.n_runs - 1].sync.ios == 7 && again.runs[full.n_runs - 1].sync.p99_ns == 5000000);
        assert_int_equal(again.conditions.queues[DRIVER_UAS].nr_requests, 256);
        assert_true(again.runs[0].other_bytes_per_sec == 0);
}

/* A valid result in which every occurrence of a piece of text is replaced. */
static char *replaced(const char *text, const char *from, const char *to)
{
        size_t n = 0, left;
        char *ret, *p;

        for (const char *at = text; (at = strstr(at, from)); at += strlen(from))
                n++;
        if (n == 0)
                fail_msg("there is no %s", from);
        p = ret = malloc(strlen(text) + n * strlen(to) + 1);
        assert_non_null(ret);
        for (const char *at; (at = strstr(text, from)); text = at + strlen(from)) {
                left = (size_t) (at - text);
                memcpy(p, text, left);
                memcpy(p + left, to, strlen(to));
                p += left + strlen(to);
        }
        memcpy(p, text, strlen(text) + 1);
        return ret;
}

static void hostile(void **state)
{
        static const struct {
                const char *from, *to;
                int r;
        } table[] = {
                {"\"version\": 1", "\"version\": 2", -EPROTONOSUPPORT},
                {"\"version\": 1", "\"version\": \"1\"", -EBADMSG},
                {"\"version\": 1", "\"version\": -1", -EBADMSG},
                {"\"version\": 1", "\"other\": 1", -EBADMSG},
                {"\"version\": 1", "\"version\": 1, \"unknown\": [1, 2]", 0},
                {"0f3c2a4e-6b1d", "../../etc/x", -EBADMSG},
                {"0f3c2a4e-6b1d", "0f3c2a4e-6b1d-6b1d-6b1d-6b1d-6b1d", -EBADMSG},
                {"\"axis\": \"depth\"", "\"axis\": \"depht\"", -EBADMSG},
                {"\"driver\": \"uas\"", "\"driver\": \"uass\"", -EBADMSG},
                {"\"driver\": \"uas\"", "\"driver\": 2", -EBADMSG},
                {"\"iodepth\": 32", "\"iodepth\": 65536", -EBADMSG},
                {"\"iodepth\": 32", "\"iodepth\": 32.5", -EBADMSG},
                {"\"iodepth\": 32", "\"iodepth\": -32", -EBADMSG},
                {"\"iodepth\": 32", "\"iodepth\": 99999999999999999999999", -EBADMSG},
                {"\"read_percent\": 50", "\"read_percent\": 101", -EBADMSG},
                {"\"pattern\": 4", "\"pattern\": 5", -EBADMSG},
                {"\"depth_share\": 0.998", "\"depth_share\": NaN", -EBADMSG},
                {"\"depth_share\": 0.998", "\"depth_share\": -0.5", -EBADMSG},
                {"\"depth_share\": 0.998", "\"depth_share\": 1e999", -EBADMSG},
                {"\"depth_share\": 0.998", "\"depth_share\": 1", 0},
                {"\"single\": false", "\"single\": 0", -EBADMSG},
                {"\"single\": false", "\"was\": false", -EBADMSG},
                {"\"sync\"", "\"was\"", -EBADMSG},
                {"\"fsync\"", "\"was\"", -EBADMSG},
                {"\"nr_requests\"", "\"was\"", -EBADMSG},
                {"\"fsync\": 40", "\"fsync\": -1", -EBADMSG},
                {"\"fdatasync\": 80", "\"fdatasync\": 4294967296", -EBADMSG},
                {"\"sync\": {", "\"sync\": [ ], \"was\": {", -EBADMSG},
                {"\"depth_share\": 0.998", "\"depth_share\": null", -EBADMSG},
                {"\"error\": -5", "\"error\": 5", -EBADMSG},
                {"\"error\": -5", "\"error\": -5000", -EBADMSG},
                {"\"host\": null", "\"hosts\": null", 0},
                {"\"host\": null", "\"host\": [[[[[[[[[[1]]]]]]]]]]", -EBADMSG},
                {"\"rw\": \"randread\"", "\"rw\": \"a\\u0000b\"", -EBADMSG},
                {"\"rw\": \"randread\"", "\"rw\": \"a\xff\"", -EBADMSG},
                {"\"random\": true", "\"random\": 1", -EBADMSG},
                {"\"patterns\": [", "\"patterns\": {}, \"x\": [", -EBADMSG},
                {"\"patterns\": [", "\"patterns\": [ 1,", -EBADMSG},
                {"\"patterns\": [", "\"patterns\": [], \"x\": [", -EBADMSG}, /* the runs refer to no pattern */
                {"\"runs\": [", "\"runs\": [ null,", -EBADMSG},
                {"\"conditions\": {", "\"conditions\": [], \"x\": {", -EBADMSG},
                {"\"finding\": {", "\"finding\": 1, \"x\": {", -EBADMSG},
                {"\"verdict\": ", "\"verdict\": [], \"x\": ", 0}, /* computed again */
        };
        _cleanup_(bench_done) struct bench b = sample_full();
        _cleanup_free_ char *text = text_of(&b);

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                _cleanup_free_ char *t = replaced(text, table[i].from, table[i].to);
                struct bench read = {};
                int r = bench_json_parse(t, strlen(t), &read);

                if (r != table[i].r)
                        fail_msg("row %zu: %i, not %i", i, r, table[i].r);
                bench_done(&read);
        }
}

static void no_result_at_all(void **state)
{
        static const char *const texts[] = {
                "", " ", "{", "{}", "[]", "1", "null", "\"\"", "{\"version\":1}", "{} {}", "[[[[[[[[[[[[["};
        _cleanup_(bench_done) struct bench b = sample_bench();
        _cleanup_free_ char *text = text_of(&b), *more = malloc(strlen(text) + 3);
        struct bench read = {};

        for (size_t i = 0; i < ELEMENTSOF(texts); i++)
                assert_row(i, bench_json_parse(texts[i], strlen(texts[i]), &read) == -EBADMSG);
        for (size_t n = 0; n < strlen(text); n++) /* half a file */ {
                _cleanup_free_ char *half = strndup(text, n);

                assert_row(n, bench_json_parse(half, n, &read) == -EBADMSG);
        }
        assert_non_null(more);
        (void) sprintf(more, "%s\nx", text);
        assert_int_equal(bench_json_parse(more, strlen(more), &read), -EBADMSG);
        (void) sprintf(more, "%s \n", text);
        assert_int_equal(bench_json_parse(more, strlen(more), &read), 0);
        bench_done(&read);
}

static void files(void **state)
{
        char dir[] = "/tmp/test-bench-json-XXXXXX";
        _cleanup_(bench_done) struct bench b = sample_full(), read = {};
        _cleanup_free_ char *text = text_of(&b);
        _cleanup_close_ int fd = -1;

        assert_non_null(mkdtemp(dir));
        fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(fd >= 0);
        {
                _cleanup_close_ int f = openat(fd, "good", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

                assert_int_equal(write(f, text, strlen(text)), strlen(text));
        }
        {
                _cleanup_close_ int f = openat(fd, "large", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

                assert_int_equal(ftruncate(f, (off_t) BENCH_JSON_SIZE_MAX + 1), 0);
        }
        assert_int_equal(mkfifoat(fd, "fifo", 0644), 0);
        assert_int_equal(bench_json_read(fd, "good", &read), 0);
        assert_int_equal(read.n_runs, b.n_runs);
        bench_done(&read);
        assert_int_equal(bench_json_read(fd, "large", &read), -EFBIG);
        assert_int_equal(bench_json_read(fd, "fifo", &read), -EBADMSG); /* the read does not wait for a writer */
        assert_int_equal(bench_json_read(fd, ".", &read), -EBADMSG);
        assert_int_equal(bench_json_read(fd, "none", &read), -ENOENT);
        for (size_t i = 0; i < 3; i++)
                (void) unlinkat(fd, (const char *[]){"good", "large", "fifo"}[i], 0);
        assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(round_trip),
                cmocka_unit_test(hostile),
                cmocka_unit_test(no_result_at_all),
                cmocka_unit_test(files),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
