/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The summary of a whole result in one sentence, and its doubts. */
#include "samples.h"

#include "bench/tell/verdict.h"

#define FASTER "random read, 4 KiB, depth 32: 3.1 times faster on UAS"

static void check_overall(const struct bench *b, const char *want)
{
        char text[1024];

        assert_string_equal(verdict_overall(b, text, sizeof(text)), want);
}

static void set_rates(struct bench *b, unsigned pattern, enum driver d, double factor)
{
        for (size_t i = 0; i < b->n_runs; i++)
                if (b->runs[i].pattern == pattern && b->runs[i].driver == d) {
                        b->runs[i].read.iops *= factor;
                        b->runs[i].read.bytes_per_sec *= factor;
                }
}

/* Raises this doubt for one run, and so for its figure. The rate stays. */
static void doubt_run(struct bench *b, struct bench_run *r, enum bench_doubt d)
{
        struct bench_pattern *p = &b->patterns[r->pattern];

        if (d == DOUBT_DEPTH)
                r->depth_share = 0.1;
        else if (d == DOUBT_CACHE)
                r->region = p->size = 100 * MiB;
        else if (d == DOUBT_REGION)
                r->region = p->size / 4;
        else if (d == DOUBT_SYNCS) {
                p->fsync = 10;
                r->write.ios = 100;
                r->sync.ios = 50;
        } else if (d == DOUBT_MEMORY)
                r->device_read_bytes = 1;
        else if (d == DOUBT_LOAD)
                r->other_bytes_per_sec = 100 * MB;
        else if (d == DOUBT_SUBMIT)
                r->read.slat_mean_ns = r->read.mean_ns;
        else {
                assert_int_equal(d, DOUBT_USB2);
                b->conditions.speed_mbps = 480;
                r->read.bytes_per_sec /= r->read.bytes_per_sec > 50 * MB ? 10 : 1; /* as fast as the link */
        }
}

static void overall(void **state)
{
        _cleanup_(bench_done) struct bench b = sample_comparison(), none = sample_bench();

        b.conditions.rotational = false; /* no rate is too high */
        b.conditions.speed_mbps = 20000;
        check_overall(&none, "");
        check_overall(&b, FASTER "; 2 sequential and 1 random pattern: no difference seen");
        set_rates(&b, 3, DRIVER_UAS, 0.5);
        check_overall(&b,
                      FASTER "; random read, 4 KiB, depth 1: 2.0 times slower on UAS; 2 sequential patterns: no difference seen");
        set_rates(&b, 0, DRIVER_UAS, 0.5);
        set_rates(&b, 3, DRIVER_UAS, 2);
        check_overall(&b, FASTER "; sequential read, 1 MiB, depth 8: 2.0 times slower on UAS; 1 sequential and 1 random pattern: "
                                 "no difference seen");
        set_rates(&b, 0, DRIVER_UAS, 2);
        set_rates(&b, 2, DRIVER_UAS, 1 / 3.1);
        check_overall(&b, "no difference seen");
        for (unsigned p = 0; p < 4; p++)
                set_rates(&b, p, DRIVER_UAS, 2 + p);
        check_overall(&b,
                      "random read, 4 KiB, depth 1: 5.0 times faster on UAS; random read, 4 KiB, depth 32: 4.0 times faster on "
                      "UAS; sequential read, 1 MiB, depth 1: 3.0 times faster on UAS; sequential read, 1 MiB, depth 8: 2.0 "
                      "times faster on UAS");
        for (size_t i = 0; i < b.n_runs; i++)
                b.runs[i].driver = DRIVER_UAS;
        check_overall(&b, ""); /* there is nothing to compare */
}

/* Doubts about the rows that carry the verdict, if they can cause or hide a difference. Rows 2 and 3 are random, at depth 32 and
 * 1. */
static void doubted(void **state)
{
#define SAID FASTER "; 2 sequential and 1 random pattern: no difference seen"
        static const struct {
                unsigned row; /* the row that is changed; 4: all */
                enum driver driver;
                enum bench_doubt first, second; /* doubts about that row */
                bool same;                      /* no row differs */
                const char *want;
        } table[] = {
                {2, DRIVER_UAS, DOUBT_DEPTH, DOUBT_DEPTH, false, SAID "; with doubts: depth"},
                {2, DRIVER_USB_STORAGE, DOUBT_CACHE, DOUBT_CACHE, false, SAID "; with doubts: cache"},
                {2, DRIVER_UAS, DOUBT_MEMORY, DOUBT_CACHE, false, SAID "; with doubts: cache, memory"},
                {2, DRIVER_UAS, DOUBT_LOAD, DOUBT_LOAD, false, SAID "; with doubts: load"},
                {2, DRIVER_UAS, DOUBT_SUBMIT, DOUBT_SUBMIT, false, SAID "; with doubts: submission"},
                {2, DRIVER_UAS, DOUBT_REGION, DOUBT_SYNCS, false, SAID}, /* both drivers have this doubt */
                {0, DRIVER_UAS, DOUBT_DEPTH, DOUBT_CACHE, false, SAID},  /* the doubt of another row */
                {4, DRIVER_NONE, DOUBT_USB2, DOUBT_USB2, false, SAID},   /* faster despite this doubt */
                {4, DRIVER_NONE, DOUBT_USB2, DOUBT_USB2, true, "no difference seen; with doubts: usb2"},
                {0, DRIVER_UAS, DOUBT_DEPTH, DOUBT_DEPTH, true, "no difference seen; with doubts: depth"},
                {4, DRIVER_UAS, DOUBT_DEPTH, DOUBT_LOAD, true, "no difference seen; with doubts: depth, load"},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                _cleanup_(bench_done) struct bench b = sample_comparison();
                char text[1024];

                b.conditions.rotational = false;
                if (table[i].same)
                        set_rates(&b, 2, DRIVER_UAS, 1 / 3.1);
                for (size_t k = 0; k < 2 * b.n_runs; k++) {
                        struct bench_run *r = &b.runs[k / 2];

                        if ((table[i].row != 4 && r->pattern != table[i].row) ||
                            (table[i].driver != DRIVER_NONE && r->driver != table[i].driver))
                                continue;
                        doubt_run(&b, r, k % 2 == 0 ? table[i].first : table[i].second);
                }
                if (!streq(verdict_overall(&b, text, sizeof(text)), table[i].want))
                        fail_msg("row %zu: %s", i, text);
        }
}

/* Too many kinds of doubt for one sentence. Without a comparison there is no summary. */
static void many_doubts(void **state)
{
        _cleanup_(bench_done) struct bench b = sample_comparison();
        char text[1024];

        for (size_t i = 0; i < b.n_runs; i++) {
                static const enum bench_doubt all[] = {DOUBT_DEPTH, DOUBT_CACHE, DOUBT_MEMORY, DOUBT_LOAD, DOUBT_SUBMIT};

                for (size_t k = 0; k < ELEMENTSOF(all); k++)
                        doubt_run(&b, &b.runs[i], all[k]);
        }
        assert_non_null(
                strstr(verdict_overall(&b, text, sizeof(text)), "seen; with doubts: depth, submission, cache and 2 more"));
        assert_true(strlen(verdict_overall(&b, text, 100)) == 99);
        b.single = true;
        check_overall(&b, "");
}

/* Many patterns: the largest differences, equal ones in their order, and the number of the others. */
static void many_patterns(void **state)
{
        _cleanup_(bench_done) struct bench b = sample_bench();
        char text[1024];

        b.conditions.queues[DRIVER_UAS].queue_depth = 64;
        for (unsigned i = 0; i < 7; i++) {
                unsigned p = sample_pattern(&b, "p", "randread", 4096, 1U << i);

                SAMPLE_RUNS(&b, p, DRIVER_USB_STORAGE, 100 * 4096, 100 * 4096, 100 * 4096, 100 * 4096, 100 * 4096);
                sample_runs(&b, p, DRIVER_UAS, (double[]){8192 * 100, 8192 * 100, 8192 * 100, 8192 * 100, 8192 * 100}, 5);
        }
        check_overall(&b,
                      "random read, 4 KiB, depth 1: 2.0 times faster on UAS; random read, 4 KiB, depth 2: 2.0 times faster on "
                      "UAS; random read, 4 KiB, depth 4: 2.0 times faster on UAS; random read, 4 KiB, depth 8: 2.0 times "
                      "faster on UAS; 3 more with a difference");
        set_rates(&b, 0, DRIVER_UAS, 0.5);
        for (unsigned i = 2; i < 7; i++)
                set_rates(&b, i, DRIVER_UAS, 0.5);
        check_overall(&b, "random read, 4 KiB, depth 2: 2.0 times faster on UAS; 6 random patterns: no difference seen");
        assert_true(strlen(verdict_overall(&b, text, 20)) == 19);
        /* A pattern without a verdict is not mentioned. */
        for (size_t i = 0; i < b.n_runs; i++)
                if (b.runs[i].pattern >= 5)
                        b.runs[i].error = -EIO;
        check_overall(
                &b,
                "random read, 4 KiB, depth 2: 2.0 times faster on UAS; 4 random patterns: no difference seen; 2 random patterns: "
                "too few rounds for a verdict (0 and 0; it needs 5 of each, and the first one does not count)");
}

/* The cause that ended a half comes first, in plain words. */
static void findings(void **state)
{
        _cleanup_(bench_done) struct bench b = sample_comparison();
        char text[512];

        assert_string_equal(finding_text(&b, text, sizeof(text)), "");
        b.finding = (struct bench_finding){true, DRIVER_UAS, 20, "2 commands aborted, 1 reset"};
        assert_int_equal(b.runs[20].pattern, 1);
        assert_string_equal(
                finding_text(&b, text, sizeof(text)),
                "uas failed during sequential read, 1 MiB, depth 1: 2 commands aborted, 1 reset. This disk is not safe on "
                "uas here: leave it on usb-storage (uasctl policy DISK usb-storage), whatever the figures say.");
        b.finding.run = 9999;
        b.finding.driver = DRIVER_USB_STORAGE;
        assert_non_null(strstr(finding_text(&b, text, sizeof(text)), "usb-storage failed: 2 commands"));
        assert_non_null(strstr(text, "UAS is not the cause"));
        /* A missing half is not reported as "too few rounds". */
        for (size_t i = 0; i < b.n_runs; i++)
                if (b.runs[i].pattern == 0 && b.runs[i].driver == DRIVER_UAS)
                        b.runs[i].error = -EIO;
        check_overall(&b, FASTER
                      "; 1 sequential and 1 random pattern: no difference seen; 1 sequential pattern: ended before its time");
}

/* Only one driver, and it ended early: this is no comparison with too few rounds, and no failed one. */
static void single(void **state)
{
        static const struct {
                bool interrupted, found;
                enum bench_word otherwise;
        } table[] = {
                {false, false, BENCH_SINGLE},
                {true, false, BENCH_ROUNDS},
                {false, true, BENCH_FAILED},
                {true, true, BENCH_FAILED},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                for (int alone = 0; alone < 2; alone++) {
                        _cleanup_(bench_done) struct bench b = sample_bench();
                        unsigned p = sample_pattern(&b, "p", "randread", 4096, 32);
                        struct bench_verdict v;
                        char text[1024];

                        SAMPLE_RUNS(&b, p, DRIVER_UAS, 100 * 4096);
                        b.interrupted = table[i].interrupted;
                        b.finding.found = table[i].found;
                        b.single = alone;
                        v = verdict_of_pattern(&b, p);
                        assert_row(i, v.word == (alone ? BENCH_SINGLE : table[i].otherwise));
                        assert_row(i, isempty(verdict_overall(&b, text, sizeof(text))) == (v.word == BENCH_SINGLE));
                }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(overall),       cmocka_unit_test(doubted),  cmocka_unit_test(many_doubts),
                cmocka_unit_test(many_patterns), cmocka_unit_test(findings), cmocka_unit_test(single),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
