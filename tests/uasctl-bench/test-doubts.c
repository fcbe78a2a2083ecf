/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Doubts, and their absence: each row makes one change to a result without doubts. */
#include <math.h>

#include "samples.h"

#include "bench/tell/stats.h"
#include "bench/tell/verdict.h"

#define BIT(d) (1U << DOUBT_##d)

/* A sequential pattern, a random one, and a random one with one read at a time, on a hard disk under uas. */
enum { SEQ, RND, ALONE };

static const double seq[] = {190 * MB, 191 * MB, 189 * MB, 192 * MB, 190.5 * MB};
static const double rnd[] = {600 * 4096, 598 * 4096, 605 * 4096, 601 * 4096, 597 * 4096};
static const double alone[] = {118 * 4096, 120 * 4096, 119 * 4096, 121 * 4096, 118.5 * 4096};

static struct bench plain(void)
{
        struct bench b = sample_bench();

        (void) sample_pattern(&b, "SEQ1M-Q8T1", "read", MiB, 8);
        (void) sample_pattern(&b, "RND4K-Q32T1", "randread", 4 * KiB, 32);
        (void) sample_pattern(&b, "RND4K-Q1T1", "randread", 4 * KiB, 1);
        sample_runs(&b, SEQ, DRIVER_UAS, seq, ELEMENTSOF(seq));
        sample_runs(&b, RND, DRIVER_UAS, rnd, ELEMENTSOF(rnd));
        sample_runs(&b, ALONE, DRIVER_UAS, alone, ELEMENTSOF(alone));
        return b;
}

/* Multiplies the rates of a pattern by a factor, in all rounds that count. */
static void scale(struct bench *b, unsigned pattern, double factor)
{
        for (size_t i = 0; i < b->n_runs; i++)
                if (b->runs[i].pattern == pattern && b->runs[i].round > 0) {
                        b->runs[i].read.bytes_per_sec *= factor;
                        b->runs[i].read.iops *= factor;
                }
}

static void rates(struct bench *b, unsigned pattern, const double *factors)
{
        for (size_t i = 0, n = 0; i < b->n_runs; i++)
                if (b->runs[i].pattern == pattern && b->runs[i].round > 0) {
                        b->runs[i].read.bytes_per_sec = factors[n] * MB;
                        b->runs[i].read.iops = factors[n++];
                }
}
#define RATES(b, pattern, ...) rates(b, pattern, (const double[]){__VA_ARGS__})

/* Every run of the pattern, also in round 0. */
#define EACH_RUN(b, p, what)                                                                                                     \
        for (size_t _i = 0; _i < (b)->n_runs; _i++)                                                                              \
                if ((b)->runs[_i].pattern == (p))                                                                                \
        (b)->runs[_i].what

static void nothing(struct bench *b)
{
}
static void link_jump(struct bench *b)
{
        scale(b, SEQ, 2.6); /* 494 MB/s, which no spinning disk reaches */
        b->conditions.rotational = false;
}
static void link_just(struct bench *b)
{
        scale(b, SEQ, 2.5); /* 480 */
        b->conditions.rotational = false;
}
static void link_ten(struct bench *b)
{
        link_jump(b);
        b->conditions.speed_mbps = 10000;
}
static void link_unknown(struct bench *b)
{
        scale(b, SEQ, 100);
        b->conditions.rotational = false;
        b->conditions.speed_mbps = 0;
}
static void usb2(struct bench *b)
{
        b->conditions.speed_mbps = 480;
        scale(b, SEQ, 0.2);
}
static void usb2_jump(struct bench *b)
{
        b->conditions.speed_mbps = 480;
        scale(b, SEQ, 0.3); /* 57 MB/s */
}
static void shallow(struct bench *b)
{
        EACH_RUN(b, RND, depth_share) = 0.4;
}
static void shallow_once(struct bench *b)
{
        b->runs[8].depth_share = 0.1;
}
static void shallow_alone(struct bench *b)
{
        EACH_RUN(b, ALONE, depth_share) = 0;
}
static void synchronous(struct bench *b)
{
        b->patterns[RND].sync_engine = true;
        scale(b, RND, 0.2);
}
static void libaio_buffered(struct bench *b)
{
        synchronous(b); /* as the profile has it without direct */
        b->patterns[RND].direct = false;
        (void) copy_string(b->patterns[RND].engine, sizeof(b->patterns[RND].engine), "libaio");
        b->conditions.memory = 0;
}
static void shallow_beyond_sight(struct bench *b)
{
        b->conditions.queues[DRIVER_UAS].queue_depth = 256;
        b->patterns[RND].iodepth = 256;
        shallow(b);
}
static void too_deep(struct bench *b)
{
        b->patterns[RND].iodepth = 256;
}
static void many_jobs(struct bench *b)
{
        b->patterns[RND].numjobs = 16;
}
static void buffered(struct bench *b)
{
        b->patterns[SEQ].direct = false;
        EACH_RUN(b, SEQ, region) = 10 * GiB;
}
static void buffered_large(struct bench *b)
{
        b->patterns[SEQ].direct = false;
        EACH_RUN(b, SEQ, region) = 32 * GiB;
}
static void small(struct bench *b)
{
        EACH_RUN(b, SEQ, region) = 256 * MiB;
}
static void small_by_pattern(struct bench *b)
{
        EACH_RUN(b, SEQ, region) = 0;
        b->patterns[SEQ].size = 100 * MiB;
        b->patterns[SEQ].numjobs = 2;
}
/* Eight jobs on a scratch file of 5 GiB. */
static void less_each(struct bench *b)
{
        b->patterns[SEQ].size = 10 * GiB;
        b->patterns[SEQ].numjobs = 8;
        EACH_RUN(b, SEQ, region) = 5 * GiB;
}
static void hardly_less(struct bench *b)
{
        b->patterns[SEQ].size = 10 * GiB + 512;
        b->patterns[SEQ].numjobs = 8;
        EACH_RUN(b, SEQ, region) = 80 * GiB;
        b->conditions.queues[DRIVER_UAS].queue_depth = 256;
}
static void whole_disk(struct bench *b)
{
        EACH_RUN(b, SEQ, region) = 0;
        b->patterns[SEQ].size = 0;
}
static void disk_too_quick(struct bench *b)
{
        scale(b, SEQ, 1.8);
}
static void reads_too_quick(struct bench *b)
{
        scale(b, RND, 5);
}
static void solid_state(struct bench *b)
{
        b->conditions.rotational = false;
        scale(b, RND, 50);
        scale(b, ALONE, 50);
        EACH_RUN(b, ALONE, read.p50_ns) = 90000;
}
static void alone_too_quick(struct bench *b)
{
        scale(b, ALONE, 4);
}
static void latency(struct bench *b)
{
        EACH_RUN(b, ALONE, read.p50_ns) = 200000;
}
static void written(struct bench *b)
{
        b->patterns[ALONE].read_percent = 0;
        scale(b, ALONE, 6); /* as published: 727 a second, because its cache sorts the writes */
}
static void written_too_quick(struct bench *b)
{
        b->patterns[ALONE].read_percent = 0;
        scale(b, ALONE, 30);
}
static void scattered(struct bench *b)
{
        RATES(b, SEQ, 180, 191, 200, 185, 188);
}
static void falling(struct bench *b)
{
        RATES(b, SEQ, 200, 198, 196, 192, 188);
}
static void falling_but_once(struct bench *b)
{
        RATES(b, SEQ, 200, 196, 197, 192, 188);
}
static void falling_little(struct bench *b)
{
        RATES(b, SEQ, 200, 199, 198, 197, 196);
}
static void rising(struct bench *b)
{
        RATES(b, SEQ, 188, 192, 196, 198, 200);
}
static void falling_to_cold(struct bench *b)
{
        RATES(b, SEQ, 200, 120, 110, 105, 100);
}
static void load(struct bench *b)
{
        b->runs[3].other_bytes_per_sec = 30 * MB;
}
static void load_in_warmup(struct bench *b)
{
        b->runs[0].other_bytes_per_sec = 30 * MB;
}
static void load_small(struct bench *b)
{
        b->runs[3].other_bytes_per_sec = 3 * MB;
}
static void load_small_unknown(struct bench *b)
{
        b->conditions.speed_mbps = 0;
        load_small(b);
}
static void load_not_known(struct bench *b)
{
        EACH_RUN(b, SEQ, other_bytes_per_sec) = -1;
}
/* Ten seconds after two of ramp, which are also counted for fio. */
#define CHARGED(r, side) ((double) (r).side.bytes * 1.2)

static void from_memory(struct bench *b)
{
        EACH_RUN(b, SEQ, device_read_bytes) = CHARGED(b->runs[_i], read) * 0.03;
}
static void slow_ramp(struct bench *b)
{
        b->patterns[SEQ].ramp_sec = 40; /* in which hardly anything was moved */
        EACH_RUN(b, SEQ, device_read_bytes) = (double) b->runs[_i].read.bytes;
}
static void ramp_from_memory(struct bench *b)
{
        b->patterns[SEQ].ramp_sec = 40; /* and yet the device moved less than fio counted after it */
        EACH_RUN(b, SEQ, device_read_bytes) = (double) b->runs[_i].read.bytes * 0.8;
}
static void once_from_memory(struct bench *b)
{
        EACH_RUN(b, SEQ, device_read_bytes) = CHARGED(b->runs[_i], read) * (_i == 3 ? 0.5 : 1.2);
}
static void from_memory_in_warmup(struct bench *b)
{
        EACH_RUN(b, SEQ, device_read_bytes) = CHARGED(b->runs[_i], read) * (b->runs[_i].round == 0 ? 0 : 0.95);
}
static void writing(struct bench *b, double share)
{
        b->patterns[SEQ].read_percent = 0;
        for (size_t i = 0; i < b->n_runs; i++)
                if (b->runs[i].pattern == SEQ) {
                        b->runs[i].write = b->runs[i].read;
                        b->runs[i].read = (struct bench_side){};
                        b->runs[i].device_read_bytes = 0;
                        b->runs[i].device_written_bytes = CHARGED(b->runs[i], write) * share;
                }
}
static void to_device(struct bench *b)
{
        writing(b, 0.95);
}
static void to_memory(struct bench *b)
{
        writing(b, 0);
}
static void to_memory_buffered(struct bench *b)
{
        writing(b, 0);
        b->patterns[SEQ].direct = false; /* so the writes are expected to go to memory */
        b->conditions.memory = 0;
}
static void mixed_to_memory(struct bench *b)
{
        b->patterns[SEQ].read_percent = 50;
        for (size_t i = 0; i < b->n_runs; i++)
                if (b->runs[i].pattern == SEQ) {
                        b->runs[i].write = b->runs[i].read;
                        b->runs[i].device_read_bytes = CHARGED(b->runs[i], read) * 0.8;
                        b->runs[i].device_written_bytes = CHARGED(b->runs[i], write) * 0.5;
                        b->runs[i].read.bytes_per_sec /= 2;
                        b->runs[i].write.bytes_per_sec /= 2;
                }
}
static void failed(struct bench *b)
{
        b->runs[2].error = b->runs[4].error = -EIO;
}
static void failed_all(struct bench *b)
{
        EACH_RUN(b, SEQ, error) = -EIO;
        b->conditions.speed_mbps = 480;
}

static void submitting(struct bench *b)
{
        EACH_RUN(b, RND, read.mean_ns) = 2.5e9;
        EACH_RUN(b, RND, read.slat_mean_ns) = 1.9e9;
        EACH_RUN(b, ALONE, read.slat_mean_ns) = 1.9e9; /* no doubt follows from it: there is no queue */
}
static void submitting_all(struct bench *b)
{
        EACH_RUN(b, RND, read.mean_ns) = 81.4e6;
        EACH_RUN(b, RND, read.slat_mean_ns) = 86.1e6;
}
static void submitting_half(struct bench *b)
{
        EACH_RUN(b, RND, read.mean_ns) = 2.5e9;
        EACH_RUN(b, RND, read.slat_mean_ns) = 1.25e9;
}
static void submitting_writes(struct bench *b)
{
        b->patterns[SEQ].read_percent = 50;
        EACH_RUN(b, SEQ, write.mean_ns) = 2e9;
        EACH_RUN(b, SEQ, write.slat_mean_ns) = 1.5e9;
}
static void submitting_once(struct bench *b)
{
        b->runs[8].read.slat_mean_ns = 1e12;
}

/* Half of the requests are writes, with a sync after every tenth. The slowest round has 4560 writes. */
static void syncing(struct bench *b, double times, unsigned only)
{
        b->patterns[ALONE].read_percent = 50;
        b->patterns[ALONE].fsync = 10;
        for (size_t i = 0; i < b->n_runs; i++)
                if (b->runs[i].pattern == ALONE) {
                        b->runs[i].write.ios = 4560;
                        b->runs[i].sync.ios = (uint64_t) (456 * (only == 0 || b->runs[i].round == only ? times : 1));
                }
}
static void synced(struct bench *b)
{
        syncing(b, 1.2, 0); /* and one at the end */
        EACH_RUN(b, ALONE, sync.ios) += 1;
}
static void synced_often(struct bench *b)
{
        syncing(b, 2.5, 0);
}
static void synced_often_once(struct bench *b)
{
        syncing(b, 1.5, 3);
}
static void synced_often_in_warmup(struct bench *b)
{
        syncing(b, 1, 0);
        for (size_t i = 0; i < b->n_runs; i++)
                b->runs[i].sync.ios *= b->runs[i].round == 0 ? 4 : 1;
}
static void synced_after_data(struct bench *b)
{
        syncing(b, 2.5, 0);
        b->patterns[ALONE].fsync = 0;
        b->patterns[ALONE].fdatasync = 20;
}
static void synced_after_both(struct bench *b)
{
        syncing(b, 2, 0);
        b->patterns[ALONE].fdatasync = 10;
}
static void synced_by_others(struct bench *b)
{
        syncing(b, 2.5, 0);
        b->patterns[ALONE].fsync = 0;
}
static void synced_without_writes(struct bench *b)
{
        syncing(b, 2.5, 0);
        EACH_RUN(b, ALONE, write.ios) = 0;
}

static const struct {
        void (*change)(struct bench *b);
        unsigned seq, rnd, alone;
        const char *text; /* text that one of the sentences contains */
} table[] = {
        /* clang-format off */
        {nothing, 0, 0, 0, NULL},
        {link_jump, BIT(LINK), 0, 0, "499 MB/s is more than a link at 5000 Mbit/s can carry (485 MB/s)"},
        {link_just, 0, 0, 0, NULL},
        {link_ten, 0, 0, 0, NULL},
        {link_unknown, 0, 0, 0, NULL},
        {usb2, BIT(USB2), BIT(USB2), BIT(USB2), "linked at 480 Mbit/s: a USB 2 link carries 53.2 MB/s at most"},
        {usb2_jump, BIT(USB2) | BIT(LINK), BIT(USB2), BIT(USB2), "57.6 MB/s is more than a link at 480 Mbit/s"},
        {shallow, 0, BIT(DEPTH), 0, "only 40 % of the requests reached depth 32"},
        {shallow_once, 0, 0, 0, NULL},
        {shallow_alone, 0, 0, 0, NULL},
        {synchronous, 0, BIT(DEPTH), 0, "depth 32 has no effect with a synchronous engine: it was 1"},
        {libaio_buffered, 0, BIT(DEPTH), 0, "depth 32 has no effect with libaio that is buffered: it was 1"},
        {shallow_beyond_sight, 0, BIT(DEPTH), 0, "only 40 % of the requests reached depth 64 or more"},
        {too_deep, 0, BIT(DEPTH), 0, "the disk gets 30 requests at once instead of 256"},
        {many_jobs, 0, BIT(DEPTH) | BIT(REGION), 0, "the disk gets 30 requests at once instead of 512"},
        {less_each, BIT(REGION) | BIT(DEPTH), 0, 0, "the profile asks for 10 GiB a job, this was 640 MiB"},
        {hardly_less, 0, 0, 0, NULL},
        {buffered, BIT(CACHE) | BIT(REGION), 0, 0, "buffered, and the machine's memory (9 GB) can hold much of 10 GiB"},
        {buffered_large, BIT(REGION), 0, 0, "the profile asks for 64 GiB, this was 32 GiB"},
        {small, BIT(CACHE) | BIT(REGION), 0, 0, "256 MiB is small: below 1 GiB caches"},
        {small_by_pattern, BIT(CACHE), 0, 0, "200 MiB is small"},
        {whole_disk, 0, 0, 0, NULL},
        {disk_too_quick, BIT(DISK), 0, 0, "too fast for a spinning disk"},
        {reads_too_quick, 0, BIT(DISK), 0, "too fast for a spinning disk"},
        {solid_state, 0, 0, 0, NULL},
        {alone_too_quick, 0, 0, BIT(DISK), "too fast for a spinning disk"},
        {latency, 0, 0, BIT(DISK), "too fast for a spinning disk"},
        {written, 0, 0, 0, NULL},
        {written_too_quick, 0, 0, BIT(DISK), "too fast for a spinning disk"},
        {scattered, BIT(SPREAD), 0, 0, "the rounds differ by 11 % of their average"},
        {falling, BIT(HEAT), 0, 0, "slower round by round, by 6 % in all"},
        {falling_but_once, BIT(HEAT), 0, 0, "slower round by round"},
        {falling_little, 0, 0, 0, NULL},
        {rising, 0, 0, 0, NULL},
        {falling_to_cold, BIT(HEAT) | BIT(SPREAD), 0, 0, "by 50 % in all"},
        {load, BIT(LOAD), 0, 0, "other programs moved up to 30.0 MB/s on the same bus"},
        {load_in_warmup, 0, 0, 0, NULL},
        {load_small, 0, 0, 0, NULL},
        {load_small_unknown, BIT(LOAD), 0, 0, "other programs moved up to 3.00 MB/s"},
        {load_not_known, 0, 0, 0, NULL},
        {submitting, 0, BIT(SUBMIT), 0, "1.90 s of the average latency of 2.50 s was submission: the kernel's queue"},
        {submitting_all, 0, BIT(SUBMIT), 0, "nearly all of the average latency of 81.4 ms was submission"},
        {submitting_half, 0, 0, 0, NULL},
        {submitting_writes, BIT(SUBMIT), 0, 0, "1.50 s of the average latency of 2.00 s"},
        {submitting_once, 0, 0, 0, NULL},
        {from_memory, BIT(MEMORY), 0, 0, "O_DIRECT is not honoured: at most 4 % of the bytes came from a device"},
        {once_from_memory, BIT(MEMORY), 0, 0, "at most 60 % of the bytes came from a device"},
        {from_memory_in_warmup, 0, 0, 0, NULL},
        {slow_ramp, 0, 0, 0, NULL},
        {ramp_from_memory, BIT(MEMORY), 0, 0, "at most 80 % of the bytes came from a device"},
        {to_device, 0, 0, 0, NULL},
        {to_memory, BIT(MEMORY), 0, 0, "O_DIRECT is not honoured: at most 0 % of the bytes reached a device, and memory took the rest"},
        {to_memory_buffered, 0, 0, 0, NULL},
        {mixed_to_memory, BIT(MEMORY), 0, 0, "at most 60 % of the bytes reached a device"},
        {synced, 0, 0, 0, NULL},
        {synced_often, 0, 0, BIT(SYNCS), "fio synced 1140 times instead of 456: older versions"},
        {synced_often_once, 0, 0, BIT(SYNCS), "fio synced 684 times instead of 456"},
        {synced_often_in_warmup, 0, 0, 0, NULL},
        {synced_after_data, 0, 0, BIT(SYNCS), "fio synced 1140 times instead of 228"},
        {synced_after_both, 0, 0, 0, NULL},
        {synced_by_others, 0, 0, 0, NULL},
        {synced_without_writes, 0, 0, 0, NULL},
        {failed, BIT(ERRORS), 0, 0, "2 of its runs failed and do not count"},
        {failed_all, BIT(ERRORS), BIT(USB2), BIT(USB2), "5 of its runs failed"},
        /* clang-format on */
};

static void all_doubts(void **state)
{
        struct doubts doubts;

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                _cleanup_(bench_done) struct bench b = plain();
                const unsigned want[] = {table[i].seq, table[i].rnd, table[i].alone};
                bool found = !table[i].text;

                table[i].change(&b);
                for (unsigned p = 0; p < ELEMENTSOF(want); p++) {
                        unsigned got = doubts_of(&b, p, DRIVER_UAS, &doubts);

                        if (got != want[p])
                                fail_msg("row %zu, pattern %u: %#x, not %#x", i, p, got, want[p]);
                        for (enum bench_doubt d = 0; d < _BENCH_DOUBT_MAX; d++)
                                if (got & (1U << d)) {
                                        assert_row(i, *doubts.text[d]);
                                        found = found || strstr(doubts.text[d], table[i].text);
                                        if (!found)
                                                print_message("row %zu: %s\n", i, doubts.text[d]);
                                } else
                                        assert_row(i, !*doubts.text[d]);
                }
                assert_row(i, found);
                assert_int_equal(doubts_of(&b, SEQ, DRIVER_USB_STORAGE, &doubts), 0); /* no doubt */
        }
}

/* A B B A, and the first half of A was faster. */
static void halves(void **state)
{
        static const struct {
                double first, second; /* rates of usb-storage */
                double uas;
                unsigned doubts;
                enum bench_word word;
        } cases[] = {
                {100, 101, 115, 0, BENCH_FASTER},
                {100, 110, 115, BIT(HALVES), BENCH_SAME}, /* faster than both, by less than they differ */
                {110, 100, 130, BIT(HALVES), BENCH_FASTER},
                {100, 110, 80, BIT(HALVES), BENCH_SLOWER},
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_(bench_done) struct bench b = sample_bench();
                unsigned p = sample_pattern(&b, "p", "read", MiB, 8);
                struct bench_verdict v;
                struct doubts doubts;

                for (unsigned k = 0; k < 12; k++)
                        sample_run(&b, p, k >= 3 && k < 9 ? DRIVER_UAS : DRIVER_USB_STORAGE,
                                   MB *
                                           (k < 3   ? cases[i].first
                                            : k < 9 ? cases[i].uas
                                                    : cases[i].second) *
                                           (1 + k / 1000.0))
                                ->round = k + 1;
                v = verdict_of_pattern(&b, p);
                assert_row(i, v.word == cases[i].word);
                assert_row(i, !(doubts_of(&b, p, DRIVER_UAS, &doubts) & BIT(HALVES)));
                assert_row(i, (doubts_of(&b, p, DRIVER_USB_STORAGE, &doubts) & BIT(HALVES)) == cases[i].doubts);
                if (cases[i].doubts)
                        assert_non_null(strstr(doubts.text[DOUBT_HALVES], "% before and after the other"));
        }
}

/* usb-storage sends one request at a time. The rows do not repeat that. */
static void queue_of_bot(void **state)
{
        _cleanup_(bench_done) struct bench b = sample_bench();
        unsigned p = sample_pattern(&b, "p", "randread", 4096, 256);
        struct doubts doubts;

        sample_runs(&b, p, DRIVER_USB_STORAGE, rnd, ELEMENTSOF(rnd));
        assert_int_equal(doubts_of(&b, p, DRIVER_USB_STORAGE, &doubts), 0);
}

static void ceilings(void **state)
{
        static const struct {
                unsigned mbps;
                double mb;
        } links[] = {{0, 0}, {12, 1.5}, {480, 53.248}, {5000, 484.848}, {10000, 1175.390}, {20000, 2350.781}};

        for (size_t i = 0; i < ELEMENTSOF(links); i++)
                assert_row(i, fabs(link_ceiling(links[i].mbps) / 1e6 - links[i].mb) < 0.001);
}

static void units(void **state)
{
        static const struct {
                double value;
                enum stats_measure m;
                const char *text;
        } figures[] = {
                {0, STATS_IOPS, "0.00 IOPS"},        {7.6543, STATS_IOPS, "7.65 IOPS"},  {99.96, STATS_IOPS, "100 IOPS"},
                {608.4, STATS_IOPS, "608 IOPS"},     {9999, STATS_IOPS, "9999 IOPS"},    {12345, STATS_IOPS, "12.3k IOPS"},
                {999499, STATS_IOPS, "999k IOPS"},   {999600, STATS_IOPS, "1.00M IOPS"}, {412.4e6, STATS_BYTES, "412 MB/s"},
                {9.996e6, STATS_BYTES, "10.0 MB/s"}, {2.3e9, STATS_BYTES, "2300 MB/s"},  {431000, STATS_P50, "431 µs"},
                {999600, STATS_P95, "1.00 ms"},      {1.279e9, STATS_MEAN, "1.28 s"},    {50, STATS_P99, "0.05 µs"},
        };
        static const struct {
                uint64_t bytes;
                const char *text;
        } sizes[] = {
                {0, "0 B"},
                {512, "512 B"},
                {4096, "4 KiB"},
                {256 * KiB, "256 KiB"},
                {10 * GiB, "10 GiB"},
                {1536 * MiB, "1536 MiB"},
                {4000787030016ULL, "4.00 TB"},
                {1536, "1536 B"},
                {12345, "12.3 kB"},
                {UINT64_MAX, "18446744 TB"},
        };
        char text[UNIT_TEXT_MAX];

        for (size_t i = 0; i < ELEMENTSOF(figures); i++)
                assert_string_equal(figure_text(figures[i].value, figures[i].m, true, text), figures[i].text);
        assert_string_equal(figure_text(431000, STATS_P50, false, text), "431 us");
        for (size_t i = 0; i < ELEMENTSOF(sizes); i++)
                assert_string_equal(bytes_text(sizes[i].bytes, text), sizes[i].text);
        assert_string_equal(day_text(1763900000000000ULL, text), "2025-11-23 12:13");
        assert_true(*day_text(UINT64_MAX, text));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(all_doubts), cmocka_unit_test(halves), cmocka_unit_test(queue_of_bot),
                cmocka_unit_test(ceilings),   cmocka_unit_test(units),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
