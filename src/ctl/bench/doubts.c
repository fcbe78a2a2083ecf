/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/bench/doubts.h"

#include "common/util.h"
#include "ctl/bench/units.h"

#define USB2_MBPS 480
#define DEPTH_SHARE 0.9           /* of all requests were to find the queue that full */
#define SUBMIT_SHARE 0.5          /* of the latency: more than what comes after it */
#define SPREAD_PERCENT 10.0
#define CACHE_REGION (1ULL << 30) /* below, the caches of disk and bridge show */
#define MEMORY_TIMES 2            /* a buffered region of less than twice the memory is half in it */
#define DEVICE_SHARE 0.9          /* of what was read was to come from a device, even if some was read twice or in part */
#define LOAD_SHARE 0.01           /* of the link */
#define LOAD_UNKNOWN 1e6          /* bytes a second, where the link is not known */
#define HALVES 1.05               /* times */
#define FALL_ROUNDS 5
#define FALL_SHARE 0.05           /* from the first rounds to the last ones */
/* What no spinning disk has: the quickest ones, with a reserve. A head has to move, and the platter has to turn. */
#define DISK_BYTES 300e6
#define DISK_READS_ALONE 300.0    /* a second, one at a time */
#define DISK_READS_QUEUED 2000.0
#define DISK_WRITES 3000.0        /* its cache sorts them */
#define DISK_LATENCY 1e6          /* ns: half of its random reads, one at a time */

static const char *const words[_BENCH_DOUBT_MAX] = {
        [DOUBT_LINK] = "above-link", [DOUBT_USB2] = "usb2",   [DOUBT_DEPTH] = "depth",
        [DOUBT_CACHE] = "cache",     [DOUBT_DISK] = "disk",   [DOUBT_SPREAD] = "spread",
        [DOUBT_HEAT] = "falling",    [DOUBT_HALVES] = "halves", [DOUBT_LOAD] = "load",
        [DOUBT_ERRORS] = "errors",   [DOUBT_SUBMIT] = "submission", [DOUBT_MEMORY] = "memory",
};

const char *bench_doubt_to_string(enum bench_doubt d)
{
        return words[d];
}

double link_ceiling(unsigned speed_mbps)
{
        double line;

        if (speed_mbps == USB2_MBPS)
                return 13 * 512 * 8000.0;
        if (speed_mbps < SUPER_SPEED_MBPS)
                return speed_mbps * 1e6 / 8; /* nobody measures those */
        line = speed_mbps * 1e6 / 8;
        return (speed_mbps == SUPER_SPEED_MBPS ? line * 8 / 10 : line * 128 / 132) * 1024 / (1024 + 32);
}

/* Of one pattern under one driver, what is asked about more than once. */
struct row {
        const struct bench *b;
        const struct bench_pattern *p;
        enum driver driver;
        struct samples bytes, iops, p50;
        struct summary rate; /* bytes a second */
        double depth_share, load, halves, lat, slat;
        double device_share; /* of what was read in the worst round; 1 if that is not known */
        uint64_t region;
        size_t failed, at_once;
};

static void read_runs(struct row *row, unsigned pattern)
{
        double shares[STATS_SAMPLES_MAX], lats[STATS_SAMPLES_MAX], slats[STATS_SAMPLES_MAX];
        size_t n = 0;

        row->load = -1;
        row->device_share = 1;
        for (size_t i = 0; i < row->b->n_runs; i++) {
                const struct bench_run *r = &row->b->runs[i];
                const struct bench_side *worse = r->read.mean_ns > r->write.mean_ns ? &r->read : &r->write;

                if (r->pattern != pattern || r->driver != row->driver || r->round == 0 || r->host)
                        continue;
                if (!stats_run_counts(r)) {
                        row->failed++;
                        continue;
                }
                row->region = r->region ?: row->region;
                if (r->device_read_bytes >= 0 && r->read.bytes > 0 && r->device_read_bytes < row->device_share * (double) r->read.bytes)
                        row->device_share = r->device_read_bytes / (double) r->read.bytes;
                if (r->other_bytes_per_sec > row->load)
                        row->load = r->other_bytes_per_sec;
                if (n == ELEMENTSOF(shares))
                        continue;
                shares[n] = r->depth_share;
                lats[n] = worse->mean_ns;
                slats[n++] = worse->slat_mean_ns;
        }
        row->depth_share = stats_median(shares, n);
        row->lat = stats_median(lats, n);
        row->slat = stats_median(slats, n);
}

static void read_row(const struct bench *b, unsigned pattern, enum driver d, struct row *ret)
{
        const struct bench_pattern *p = &b->patterns[pattern];

        *ret = (struct row){.b = b, .p = p, .driver = d};
        read_runs(ret, pattern);
        if (ret->region == 0)
                ret->region = p->size ? p->size * (p->numjobs ?: 1) : b->conditions.disk_size;
        stats_samples(b, pattern, d, STATS_BYTES, &ret->bytes);
        stats_samples(b, pattern, d, STATS_IOPS, &ret->iops);
        stats_samples(b, pattern, d, STATS_P50, &ret->p50);
        stats_summary(&ret->bytes, &ret->rate);
        ret->halves = stats_halves(b, pattern, d);
        ret->at_once = (size_t) (p->sync_engine ? 1 : p->iodepth) * (p->numjobs ?: 1);
}

static double median_of(const struct samples *s)
{
        struct samples copy = *s;

        return stats_median(copy.values, copy.n);
}

static bool above_link(const struct row *row)
{
        double ceiling = link_ceiling(row->b->conditions.speed_mbps);

        return ceiling > 0 && row->rate.max > ceiling;
}

/* Of what is given to the kernel, how much the disk can be given: that is its own business, but not what was asked. */
static bool queue_too_short(const struct row *row)
{
        unsigned depth = row->driver == DRIVER_UAS ? row->b->conditions.queue_depth[DRIVER_UAS] : 0;

        return depth > 0 && row->at_once > 2 * (size_t) depth;
}

static bool queue_not_full(const struct row *row)
{
        return row->p->iodepth > 1 && (row->p->sync_engine || row->depth_share < DEPTH_SHARE);
}

/* One request at a time has nothing to wait for but itself. */
static bool waits_to_be_submitted(const struct row *row)
{
        return row->p->iodepth > 1 && !row->p->sync_engine && row->lat > 0 &&
               row->slat > SUBMIT_SHARE * row->lat;
}

static bool in_memory(const struct row *row)
{
        return !row->p->direct && row->b->conditions.memory > 0 &&
               row->region / MEMORY_TIMES < row->b->conditions.memory;
}

static bool in_small_cache(const struct row *row)
{
        return row->region > 0 && row->region < CACHE_REGION;
}

static bool quicker_than_a_disk(const struct row *row)
{
        double iops = median_of(&row->iops), p50 = median_of(&row->p50);
        bool alone = row->at_once <= 1;

        if (!row->b->conditions.rotational)
                return false;
        if (!row->p->random || stats_figure(row->p) == STATS_BYTES)
                return row->rate.median > DISK_BYTES;
        if (row->p->read_percent < 100)
                return iops > DISK_WRITES;
        return iops > (alone ? DISK_READS_ALONE : DISK_READS_QUEUED) || (alone && p50 > 0 && p50 < DISK_LATENCY);
}

/* Hardly a round that was not slower than all before: by chance that happens to one in 24 rows of five. */
static bool falls(const struct row *row, double *ret_share)
{
        const struct samples *s = &row->bytes;
        struct samples first = {.n = s->n / 3 ?: 1}, last = {.n = s->n / 3 ?: 1};
        size_t rising = 0;

        if (s->n < FALL_ROUNDS)
                return false;
        for (size_t i = 0; i < s->n; i++)
                for (size_t k = i + 1; k < s->n; k++)
                        rising += s->values[k] >= s->values[i];
        memcpy(first.values, s->values, first.n * sizeof(double));
        memcpy(last.values, s->values + s->n - last.n, last.n * sizeof(double));
        *ret_share = 1 - median_of(&last) / median_of(&first);
        return rising * 10 <= s->n * (s->n - 1) / 2 && *ret_share >= FALL_SHARE;
}

static bool others_were_busy(const struct row *row)
{
        double ceiling = link_ceiling(row->b->conditions.speed_mbps);

        return row->load > (ceiling > 0 ? ceiling * LOAD_SHARE : LOAD_UNKNOWN);
}

static bool doubted(const struct row *row, enum bench_doubt d)
{
        unsigned speed = row->b->conditions.speed_mbps;
        double share;

        if (d == DOUBT_ERRORS)
                return row->failed > 0;
        if (row->bytes.n == 0) /* no number to doubt */
                return false;
        switch (d) {
        case DOUBT_LINK:
                return above_link(row);
        case DOUBT_USB2:
                return speed > 0 && speed <= USB2_MBPS;
        case DOUBT_DEPTH:
                return queue_not_full(row) || queue_too_short(row);
        case DOUBT_SUBMIT:
                return waits_to_be_submitted(row);
        case DOUBT_CACHE:
                return in_memory(row) || in_small_cache(row);
        case DOUBT_MEMORY:
                return row->device_share < DEVICE_SHARE;
        case DOUBT_DISK:
                return quicker_than_a_disk(row);
        case DOUBT_SPREAD:
                return row->rate.spread_percent > SPREAD_PERCENT;
        case DOUBT_HEAT:
                return falls(row, &share);
        case DOUBT_HALVES:
                return row->halves > HALVES;
        case DOUBT_LOAD:
                return others_were_busy(row);
        case DOUBT_ERRORS:
        case _BENCH_DOUBT_MAX:
                break;
        }
        return false;
}

unsigned doubts_of(const struct bench *b, unsigned pattern, enum driver d)
{
        unsigned found = 0;
        struct row row;

        read_row(b, pattern, d, &row);
        for (enum bench_doubt doubt = 0; doubt < _BENCH_DOUBT_MAX; doubt++)
                if (doubted(&row, doubt))
                        found |= 1U << doubt;
        return found;
}

static void depth_text(const struct row *row, char *ret)
{
        if (row->p->sync_engine && row->p->iodepth > 1)
                (void) snprintf(ret, DOUBT_TEXT_MAX, "depth %u does nothing with a synchronous engine: it was 1", row->p->iodepth);
        else if (queue_not_full(row))
                (void) snprintf(ret, DOUBT_TEXT_MAX, "depth %u was reached by %.0f %% of the requests alone", row->p->iodepth,
                                100 * row->depth_share);
        else
                (void) snprintf(ret, DOUBT_TEXT_MAX, "the disk is given %u requests at once, not %zu: the others wait in the kernel",
                                row->b->conditions.queue_depth[row->driver], row->at_once);
}

static void cache_text(const struct row *row, char *ret)
{
        char region[UNIT_TEXT_MAX], memory[UNIT_TEXT_MAX];

        (void) bytes_text(row->region, region);
        if (in_memory(row))
                (void) snprintf(ret, DOUBT_TEXT_MAX, "buffered, and of %s the machine's memory (%.0f GB) can answer", region,
                                (double) row->b->conditions.memory / 1e9);
        else
                (void) snprintf(ret, DOUBT_TEXT_MAX, "%s is small: below %s caches of the disk and its bridge answer", region,
                                bytes_text(CACHE_REGION, memory));
}

char *doubt_text(const struct bench *b, unsigned pattern, enum driver d, enum bench_doubt doubt,
                 char ret[static DOUBT_TEXT_MAX])
{
        char one[UNIT_TEXT_MAX], two[UNIT_TEXT_MAX], speed[UNIT_TEXT_MAX];
        double share = 0;
        struct row row;

        read_row(b, pattern, d, &row);
        (void) speed_text(b->conditions.speed_mbps, speed);
        ret[0] = '\0';
        switch (doubt) {
        case DOUBT_LINK:
                (void) snprintf(ret, DOUBT_TEXT_MAX, "%s is more than a link at %s can carry (%s): a cache answered",
                                figure_text(row.rate.max, STATS_BYTES, false, one), speed,
                                figure_text(link_ceiling(b->conditions.speed_mbps), STATS_BYTES, false, two));
                break;
        case DOUBT_USB2:
                (void) snprintf(ret, DOUBT_TEXT_MAX, "linked at %s: a USB 2 link carries %s at most, whatever the disk can do", speed,
                                figure_text(link_ceiling(b->conditions.speed_mbps), STATS_BYTES, false, one));
                break;
        case DOUBT_DEPTH:
                depth_text(&row, ret);
                break;
        case DOUBT_SUBMIT:
                (void) snprintf(ret, DOUBT_TEXT_MAX,
                                "of %s on average %s went by before a request was handed over: the kernel's queue was full",
                                figure_text(row.lat, STATS_MEAN, false, one),
                                figure_text(row.slat, STATS_MEAN, false, two));
                break;
        case DOUBT_CACHE:
                cache_text(&row, ret);
                break;
        case DOUBT_MEMORY:
                (void) snprintf(ret, DOUBT_TEXT_MAX, "%sof what was read %.0f %% came from a device: memory answered the rest",
                                row.p->direct ? "O_DIRECT is not honoured, " : "", 100 * row.device_share);
                break;
        case DOUBT_DISK:
                (void) snprintf(ret, DOUBT_TEXT_MAX, "no spinning disk is so quick: a cache answered, or it does not spin");
                break;
        case DOUBT_SPREAD:
                (void) snprintf(ret, DOUBT_TEXT_MAX, "the rounds differ by %.0f %% of their average", row.rate.spread_percent);
                break;
        case DOUBT_HEAT:
                (void) falls(&row, &share);
                (void) snprintf(ret, DOUBT_TEXT_MAX, "slower round by round, by %.0f %% in all: heat, or garbage collection", 100 * share);
                break;
        case DOUBT_HALVES:
                (void) snprintf(ret, DOUBT_TEXT_MAX, "%.0f %% apart before and after the other driver: less between the two is no difference",
                                100 * (row.halves - 1));
                break;
        case DOUBT_LOAD:
                (void) snprintf(ret, DOUBT_TEXT_MAX, "others moved up to %s on the same bus, or on the disk itself",
                                figure_text(row.load, STATS_BYTES, false, one));
                break;
        case DOUBT_ERRORS:
                (void) snprintf(ret, DOUBT_TEXT_MAX, "%zu of its runs failed and %s not counted", row.failed,
                                row.failed == 1 ? "is" : "are");
                break;
        case _BENCH_DOUBT_MAX:
                break;
        }
        return ret;
}
