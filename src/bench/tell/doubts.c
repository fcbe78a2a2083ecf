/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/tell/doubts.h"

#include "bench/tell/doubt-row.h"
#include "common/util.h"

#define USB2_MBPS 480
#define SUBMIT_SHARE 0.5 /* of the latency: more than what comes after it */
#define SPREAD_PERCENT 10.0
#define DEVICE_SHARE 0.9 /* was to come from a device, or go to one, even if some was moved twice or in part */
#define REGION_SHARE 0.9 /* of what the profile asks for: whole blocks of it alone are less */
#define LOAD_SHARE 0.01  /* of the link */
#define LOAD_UNKNOWN 1e6 /* bytes a second, where the link is not known */
#define HALVES 1.05      /* times */
/* What no spinning disk has: the quickest ones, with a reserve. A head has to move, and the platter has to turn. */
#define DISK_BYTES 300e6
#define DISK_READS_ALONE 300.0 /* a second, one at a time */
#define DISK_READS_QUEUED 2000.0
#define DISK_WRITES 3000.0 /* its cache sorts them */
#define DISK_LATENCY 1e6   /* ns: half of its random reads, one at a time */

static const char *const words[_BENCH_DOUBT_MAX] = {
        [DOUBT_LINK] = "above-link", [DOUBT_USB2] = "usb2",     [DOUBT_DEPTH] = "depth",       [DOUBT_CACHE] = "cache",
        [DOUBT_DISK] = "disk",       [DOUBT_SPREAD] = "spread", [DOUBT_HEAT] = "falling",      [DOUBT_HALVES] = "halves",
        [DOUBT_LOAD] = "load",       [DOUBT_ERRORS] = "errors", [DOUBT_SUBMIT] = "submission", [DOUBT_MEMORY] = "memory",
        [DOUBT_REGION] = "region",   [DOUBT_SYNCS] = "syncs",
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

static bool above_link(const struct doubt_row *row)
{
        double ceiling = link_ceiling(row->b->conditions.speed_mbps);

        return ceiling > 0 && row->rate.max > ceiling;
}

/* Of what is given to the kernel, how much the disk can be given: that is its own business, but not what was asked. */
static bool queue_too_short(const struct doubt_row *row)
{
        unsigned depth = row->driver == DRIVER_UAS ? row->b->conditions.queues[DRIVER_UAS].queue_depth : 0;

        return depth > 0 && row->at_once > 2 * (size_t) depth;
}

/* One request at a time has nothing to wait for but itself. */
static bool waits_to_be_submitted(const struct doubt_row *row)
{
        return row->p->iodepth > 1 && !row->p->sync_engine && row->lat > 0 && row->slat > SUBMIT_SHARE * row->lat;
}

static bool in_small_cache(const struct doubt_row *row)
{
        return row->region > 0 && row->region < DOUBT_CACHE_REGION;
}

static bool quicker_than_a_disk(const struct doubt_row *row)
{
        double iops = doubt_row_median(&row->iops), p50 = doubt_row_median(&row->p50);
        bool alone = row->at_once <= 1;

        if (!row->b->conditions.rotational)
                return false;
        if (!row->p->random || stats_figure(row->p) == STATS_BYTES)
                return row->rate.median > DISK_BYTES;
        if (row->p->read_percent < 100)
                return iops > DISK_WRITES;
        return iops > (alone ? DISK_READS_ALONE : DISK_READS_QUEUED) || (alone && p50 > 0 && p50 < DISK_LATENCY);
}

static bool others_were_busy(const struct doubt_row *row)
{
        double ceiling = link_ceiling(row->b->conditions.speed_mbps);

        return row->load > (ceiling > 0 ? ceiling * LOAD_SHARE : LOAD_UNKNOWN);
}

static bool doubted(const struct doubt_row *row, enum bench_doubt d)
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
                return doubt_row_queue_not_full(row) || queue_too_short(row);
        case DOUBT_SUBMIT:
                return waits_to_be_submitted(row);
        case DOUBT_CACHE:
                return doubt_row_in_memory(row) || in_small_cache(row);
        case DOUBT_REGION:
                return (double) row->region < REGION_SHARE * (double) row->asked;
        case DOUBT_SYNCS:
                return row->syncs > 0;
        case DOUBT_MEMORY:
                return row->device_share < DEVICE_SHARE;
        case DOUBT_DISK:
                return quicker_than_a_disk(row);
        case DOUBT_SPREAD:
                return row->rate.spread_percent > SPREAD_PERCENT;
        case DOUBT_HEAT:
                return doubt_row_falls(row, &share);
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
        struct doubt_row row;

        doubt_row_read(b, pattern, d, &row);
        for (enum bench_doubt doubt = 0; doubt < _BENCH_DOUBT_MAX; doubt++)
                if (doubted(&row, doubt))
                        found |= 1U << doubt;
        return found;
}

unsigned doubts_of_comparison(bool differs)
{
        unsigned all = (1U << _BENCH_DOUBT_MAX) - 1, alike = 1U << DOUBT_REGION | 1U << DOUBT_SYNCS;

        return all & ~alike & ~(differs ? 1U << DOUBT_USB2 : 0);
}
