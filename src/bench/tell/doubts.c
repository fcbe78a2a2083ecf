/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/tell/verdict.h"

#include "common/util.h"

#define USB2_MBPS 480
#define DEPTH_SHARE 0.9           /* minimum of all requests at that depth of the queue */
#define DEPTH_SEEN 64U            /* fio counts all depths above it as one */
#define SUBMIT_SHARE 0.5          /* of the latency; above it, submission dominates */
#define MEMORY_TIMES 2            /* if a buffered region is smaller than this times the memory, half of it fits in memory */
#define CACHE_REGION (1ULL << 30) /* below it, caches of the disk and its bridge have an effect */
#define SYNC_TIMES 1.2            /* of the number that the writes require */
#define SPREAD_PERCENT 10.0
#define FALL_ROUNDS 5
#define FALL_SHARE 0.05  /* from the first rounds to the last ones */
#define DEVICE_SHARE 0.9 /* minimum that comes from a device or goes to one; some may be moved twice or in part */
#define REGION_SHARE 0.9 /* minimum of the region in the profile; whole blocks are slightly less */
#define LOAD_SHARE 0.01  /* of the link */
#define LOAD_UNKNOWN 1e6 /* bytes per second, if the link is not known */
#define HALVES 1.05      /* ratio */
/* Limits of spinning disks: the fastest ones, with a reserve. The head has to move, and the platter has to turn. */
#define DISK_BYTES 300e6
#define DISK_READS_ALONE 300.0 /* per second, one at a time */
#define DISK_READS_QUEUED 2000.0
#define DISK_WRITES 3000.0 /* its cache sorts them */
#define DISK_LATENCY 1e6   /* ns: half of its random reads, one at a time */

/* Values of one pattern under one driver that several doubts need. */
struct doubt_row {
        const struct bench *b;
        const struct bench_pattern *p;
        unsigned pattern;
        enum driver driver;
        struct samples bytes;
        struct summary rate; /* bytes per second */
        double depth_share, load, halves, lat, slat;
        double device_share;       /* of reads, or writes with O_DIRECT, in the worst round, at most; 1 if not known */
        bool device_written;       /* the worst share is that of writes */
        uint64_t region, asked;    /* region of all jobs, and that of the profile (0: everything) */
        double syncs, syncs_asked; /* of the round with the largest excess; 0: no excess */
        size_t failed, at_once;
};

const char *const bench_doubts[_BENCH_DOUBT_MAX] = {
        [DOUBT_LINK] = "above-link", [DOUBT_USB2] = "usb2",     [DOUBT_DEPTH] = "depth",       [DOUBT_CACHE] = "cache",
        [DOUBT_DISK] = "disk",       [DOUBT_SPREAD] = "spread", [DOUBT_HEAT] = "falling",      [DOUBT_HALVES] = "halves",
        [DOUBT_LOAD] = "load",       [DOUBT_ERRORS] = "errors", [DOUBT_SUBMIT] = "submission", [DOUBT_MEMORY] = "memory",
        [DOUBT_REGION] = "region",   [DOUBT_SYNCS] = "syncs",
};

double link_ceiling(unsigned speed_mbps)
{
        double line;

        if (speed_mbps == USB2_MBPS)
                return 13 * 512 * 8000.0;
        if (speed_mbps < SUPER_SPEED_MBPS)
                return speed_mbps * 1e6 / 8; /* such links have no faster mode */
        line = speed_mbps * 1e6 / 8;
        return (speed_mbps == SUPER_SPEED_MBPS ? line * 8 / 10 : line * 128 / 132) * 1024 / (1024 + 32);
}

/*
 * The share of a device in the worst round, at most. The kernel's count for fio includes the ramp, which may have moved any
 * number of bytes.
 */
static void worst_share(struct doubt_row *row, const struct bench_run *r, bool writing)
{
        const struct bench_side *s = writing ? &r->write : &r->read;
        double said = (double) s->bytes, device = writing ? r->device_written_bytes : r->device_read_bytes;

        if (device < 0 || said <= 0 || device >= row->device_share * said)
                return;
        row->device_share = device / said;
        row->device_written = writing;
}

/* Each job may add one sync at its end (end_fsync=). */
static void most_syncs(struct doubt_row *row, const struct bench_run *r)
{
        const struct bench_pattern *p = row->p;
        double writes = (double) r->write.ios, syncs = (double) r->sync.ios, asked;

        asked = (p->fsync > 0 ? writes / p->fsync : 0) + (p->fdatasync > 0 ? writes / p->fdatasync : 0);
        if (asked <= 0 || syncs <= SYNC_TIMES * asked + (p->numjobs ?: 1) || syncs * row->syncs_asked < row->syncs * asked)
                return;
        row->syncs = syncs;
        row->syncs_asked = asked;
}

static void read_rounds(struct doubt_row *row, const struct rounds *rounds)
{
        struct samples shares = {.n = rounds->n}, slats = shares;

        row->load = -1;
        row->device_share = 1;
        for (size_t i = 0; i < rounds->n; i++) {
                const struct bench_run *r = rounds->runs[i];
                const struct bench_side *worse = r->read.mean_ns > r->write.mean_ns ? &r->read : &r->write;

                row->region = r->region ?: row->region;
                most_syncs(row, r);
                worst_share(row, r, false);
                if (row->p->direct) /* buffered writes are expected to go to memory */
                        worst_share(row, r, true);
                if (r->other_bytes_per_sec > row->load)
                        row->load = r->other_bytes_per_sec;
                shares.values[i] = r->depth_share;
                slats.values[i] = worse->slat_mean_ns;
        }
        row->depth_share = stats_median(&shares, 0, shares.n);
        row->lat = stats_of(row->b, row->pattern, row->driver, STATS_MEAN).median;
        row->slat = stats_median(&slats, 0, slats.n);
}

static void read_row(const struct bench *b, unsigned pattern, enum driver d, struct doubt_row *ret)
{
        const struct bench_pattern *p = &b->patterns[pattern];
        const struct rounds rounds = stats_rounds(b, pattern, d);

        *ret = (struct doubt_row){.b = b, .p = p, .pattern = pattern, .driver = d};
        read_rounds(ret, &rounds);
        for (size_t i = 0; i < b->n_runs; i++) {
                const struct bench_run *r = &b->runs[i];

                ret->failed += r->pattern == pattern && r->driver == d && r->round > 0 && !*r->host && !stats_run_counts(r);
        }
        ret->asked = p->size * (p->numjobs ?: 1);
        if (ret->region == 0)
                ret->region = ret->asked ?: b->conditions.disk_size;
        ret->bytes = stats_samples(b, pattern, d, STATS_BYTES);
        ret->rate = stats_summary(&ret->bytes);
        ret->halves = stats_halves(b, pattern, d);
        ret->at_once = (size_t) (p->sync_engine ? 1 : p->iodepth) * (p->numjobs ?: 1);
}

static bool quicker_than_a_disk(const struct doubt_row *row)
{
        double iops = stats_of(row->b, row->pattern, row->driver, STATS_IOPS).median;
        double p50 = stats_of(row->b, row->pattern, row->driver, STATS_P50).median;
        bool alone = row->at_once <= 1;

        if (!row->b->conditions.rotational)
                return false;
        if (!row->p->random || stats_figure(row->p) == STATS_BYTES)
                return row->rate.median > DISK_BYTES;
        if (row->p->read_percent < 100)
                return iops > DISK_WRITES;
        return iops > (alone ? DISK_READS_ALONE : DISK_READS_QUEUED) || (alone && p50 > 0 && p50 < DISK_LATENCY);
}

/* Almost every round was slower than all before it. By chance one in 24 rows of five looks like that. */
static bool falls(const struct doubt_row *row, double *ret_share)
{
        const struct samples *s = &row->bytes;
        size_t third = s->n / 3, rising = 0;

        if (s->n < FALL_ROUNDS)
                return false;
        for (size_t i = 0; i < s->n; i++)
                for (size_t k = i + 1; k < s->n; k++)
                        rising += s->values[k] >= s->values[i];
        *ret_share = 1 - stats_median(s, s->n - third, s->n) / stats_median(s, 0, third);
        return rising * 10 <= s->n * (s->n - 1) / 2 && *ret_share >= FALL_SHARE;
}

/* A condition, and the sentence if it holds. */
#define SAY(ret, ...) (snprintf(ret, DOUBT_TEXT_MAX, __VA_ARGS__) > 0)

static bool depth(const struct doubt_row *row, char *ret)
{
        unsigned wanted = row->p->iodepth;
        unsigned given = row->driver == DRIVER_UAS ? row->b->conditions.queues[DRIVER_UAS].queue_depth : 0;

        if (wanted > 1 && row->p->sync_engine)
                return SAY(ret, "depth %u has no effect with %s: it was 1", wanted,
                           streq(row->p->engine, "libaio") ? "libaio that is buffered" : "a synchronous engine");
        if (wanted > 1 && row->depth_share < DEPTH_SHARE)
                return SAY(ret, "only %.0f %% of the requests reached depth %u%s", 100 * row->depth_share,
                           wanted < DEPTH_SEEN ? wanted : DEPTH_SEEN, wanted > DEPTH_SEEN ? " or more" : "");
        /* The disk decides this limit, but it differs from the question. */
        return given > 0 && row->at_once > 2 * (size_t) given &&
               SAY(ret, "the disk gets %u requests at once instead of %zu, and the others wait in the kernel", given,
                   row->at_once);
}

/*
 * A single request does not wait for others. fio averages slightly different requests for its two figures, so the submission can
 * seem to take longer than the whole request.
 */
static bool submission(const struct doubt_row *row, char *ret)
{
        const char *all = FIGURE_TEXT(row->lat, STATS_MEAN, false), *part = FIGURE_TEXT(row->slat, STATS_MEAN, false);

        if (row->p->iodepth <= 1 || row->p->sync_engine || row->lat <= 0 || row->slat <= SUBMIT_SHARE * row->lat)
                return false;
        return row->slat < row->lat
                       ? SAY(ret, "%s of the average latency of %s was submission: the kernel's queue may have been full", part,
                             all)
                       : SAY(ret, "nearly all of the average latency of %s was submission: the kernel's queue may have been full",
                             all);
}

static bool cache(const struct doubt_row *row, char *ret)
{
        uint64_t memory = row->b->conditions.memory;
        const char *size = BYTES_TEXT(row->region);

        if (!row->p->direct && memory > 0 && row->region / MEMORY_TIMES < memory)
                return SAY(ret, "buffered, and the machine's memory (%.0f GB) can hold much of %s", (double) memory / 1e9, size);
        return row->region > 0 && row->region < CACHE_REGION &&
               SAY(ret, "%s is small: below %s caches of the disk and its bridge answer", size, BYTES_TEXT(CACHE_REGION));
}

static bool region(const struct doubt_row *row, char *ret)
{
        unsigned jobs = row->p->numjobs ?: 1;

        return (double) row->region < REGION_SHARE * (double) row->asked &&
               SAY(ret, "the profile asks for %s%s, this was %s", BYTES_TEXT(row->asked / jobs), jobs > 1 ? " a job" : "",
                   BYTES_TEXT(row->region / jobs));
}

/* Whether there is this doubt. ret: the reason, with its numbers. */
static bool doubted(const struct doubt_row *row, enum bench_doubt d, char ret[static DOUBT_TEXT_MAX])
{
        unsigned mbps = row->b->conditions.speed_mbps;
        double ceiling = link_ceiling(mbps), share = 0;

        if (row->bytes.n == 0 && d != DOUBT_ERRORS) /* there is no figure to doubt */
                return false;
        switch (d) {
        case DOUBT_LINK:
                return ceiling > 0 && row->rate.max > ceiling &&
                       SAY(ret, "%s is more than a link at %u Mbit/s can carry (%s): a cache answered",
                           FIGURE_TEXT(row->rate.max, STATS_BYTES, false), mbps, FIGURE_TEXT(ceiling, STATS_BYTES, false));
        case DOUBT_USB2:
                return mbps > 0 && mbps <= USB2_MBPS &&
                       SAY(ret, "linked at %u Mbit/s: a USB 2 link carries %s at most, whatever the disk can do", mbps,
                           FIGURE_TEXT(ceiling, STATS_BYTES, false));
        case DOUBT_DEPTH:
                return depth(row, ret);
        case DOUBT_SUBMIT:
                return submission(row, ret);
        case DOUBT_CACHE:
                return cache(row, ret);
        case DOUBT_REGION:
                return region(row, ret);
        case DOUBT_SYNCS:
                return row->syncs > 0 &&
                       SAY(ret, "fio synced %.0f times instead of %.0f: older versions sync again with each following read",
                           row->syncs, row->syncs_asked);
        case DOUBT_MEMORY:
                return row->device_share < DEVICE_SHARE &&
                       SAY(ret, "%sat most %.0f %% of the bytes %s a device, and memory %s the rest",
                           row->p->direct ? "O_DIRECT is not honoured: " : "", 100 * row->device_share,
                           row->device_written ? "reached" : "came from", row->device_written ? "took" : "answered");
        case DOUBT_DISK:
                return quicker_than_a_disk(row) &&
                       SAY(ret, "too fast for a spinning disk: a cache answered, or the disk does not spin");
        case DOUBT_SPREAD:
                return row->rate.spread_percent > SPREAD_PERCENT &&
                       SAY(ret, "the rounds differ by %.0f %% of their average", row->rate.spread_percent);
        case DOUBT_HEAT:
                return falls(row, &share) &&
                       SAY(ret, "slower round by round, by %.0f %% in all: heat, or garbage collection", 100 * share);
        case DOUBT_HALVES:
                return row->halves > HALVES &&
                       SAY(ret,
                           "it differs by %.0f %% before and after the other driver, and a smaller difference does not count",
                           100 * (row->halves - 1));
        case DOUBT_LOAD:
                return row->load > (ceiling > 0 ? ceiling * LOAD_SHARE : LOAD_UNKNOWN) &&
                       SAY(ret, "other programs moved up to %s on the same bus, or on the disk itself",
                           FIGURE_TEXT(row->load, STATS_BYTES, false));
        case DOUBT_ERRORS:
                return row->failed > 0 &&
                       SAY(ret, "%zu of its runs failed and %s not count", row->failed, row->failed == 1 ? "does" : "do");
        case _BENCH_DOUBT_MAX:
                break;
        }
        return false;
}

unsigned doubts_of(const struct bench *b, unsigned pattern, enum driver d, struct doubts *ret)
{
        struct doubt_row row;
        unsigned found = 0;

        read_row(b, pattern, d, &row);
        for (enum bench_doubt doubt = 0; doubt < _BENCH_DOUBT_MAX; doubt++)
                if (doubted(&row, doubt, ret->text[doubt]))
                        found |= 1U << doubt;
                else
                        ret->text[doubt][0] = '\0';
        return found;
}

unsigned doubts_of_comparison(bool differs)
{
        unsigned all = (1U << _BENCH_DOUBT_MAX) - 1, alike = 1U << DOUBT_REGION | 1U << DOUBT_SYNCS;

        return all & ~alike & ~(differs ? 1U << DOUBT_USB2 : 0);
}
