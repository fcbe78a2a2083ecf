/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Why a figure is doubted, with its numbers. */
#include "bench/tell/doubt-row.h"
#include "bench/tell/doubts.h"
#include "bench/tell/units.h"
#include "common/util.h"

#define DEPTH_SEEN 64 /* fio tells none above it apart */

static void depth_text(const struct doubt_row *row, char *ret)
{
        if (row->p->sync_engine && row->p->iodepth > 1)
                (void) snprintf(ret, DOUBT_TEXT_MAX, "depth %u does nothing with %s: it was 1", row->p->iodepth,
                                streq(row->p->engine, "libaio") ? "libaio that is buffered" : "a synchronous engine");
        else if (doubt_row_queue_not_full(row))
                (void) snprintf(ret, DOUBT_TEXT_MAX, "depth %u%s was reached by %.0f %% of the requests alone",
                                row->p->iodepth < DEPTH_SEEN ? row->p->iodepth : DEPTH_SEEN,
                                row->p->iodepth > DEPTH_SEEN ? " or more" : "", 100 * row->depth_share);
        else
                (void) snprintf(ret, DOUBT_TEXT_MAX,
                                "the disk is given %u requests at once, not %zu: the others wait in the kernel",
                                row->b->conditions.queues[row->driver].queue_depth, row->at_once);
}

/* fio's two averages are not of quite the same requests: what is handed over may seem to take longer than all
 * of it. */
static void submit_text(const struct doubt_row *row, char *ret)
{
        char all[UNIT_TEXT_MAX], part[UNIT_TEXT_MAX];

        (void) figure_text(row->lat, STATS_MEAN, false, all);
        (void) figure_text(row->slat, STATS_MEAN, false, part);
        if (row->slat < row->lat)
                (void) snprintf(ret, DOUBT_TEXT_MAX, "of %s on average %s went by before a request was handed over", all, part);
        else
                (void) snprintf(ret, DOUBT_TEXT_MAX, "nearly all of the %s on average went by before a request was handed over",
                                all);
        (void) snprintf(ret + strlen(ret), DOUBT_TEXT_MAX - strlen(ret), ": perhaps since the kernel's queue was full");
}

static void cache_text(const struct doubt_row *row, char *ret)
{
        char region[UNIT_TEXT_MAX], memory[UNIT_TEXT_MAX];

        (void) bytes_text(row->region, region);
        if (doubt_row_in_memory(row))
                (void) snprintf(ret, DOUBT_TEXT_MAX, "buffered, and of %s the machine's memory (%.0f GB) can answer", region,
                                (double) row->b->conditions.memory / 1e9);
        else
                (void) snprintf(ret, DOUBT_TEXT_MAX, "%s is small: below %s caches of the disk and its bridge answer", region,
                                bytes_text(DOUBT_CACHE_REGION, memory));
}

static void region_text(const struct doubt_row *row, char *ret)
{
        unsigned jobs = row->p->numjobs ?: 1;
        char asked[UNIT_TEXT_MAX], was[UNIT_TEXT_MAX];

        (void) snprintf(ret, DOUBT_TEXT_MAX, "the profile asks for %s%s, this was %s", bytes_text(row->asked / jobs, asked),
                        jobs > 1 ? " a job" : "", bytes_text(row->region / jobs, was));
}

static void memory_text(const struct doubt_row *row, char *ret)
{
        const char *directness = row->p->direct ? "O_DIRECT is not honoured, " : "";

        if (row->device_written)
                (void) snprintf(ret, DOUBT_TEXT_MAX, "%sof what was written %.0f %% went to a device: memory took the rest",
                                directness, 100 * row->device_share);
        else
                (void) snprintf(ret, DOUBT_TEXT_MAX, "%sof what was read %.0f %% came from a device: memory answered the rest",
                                directness, 100 * row->device_share);
}

char *doubt_text(const struct bench *b, unsigned pattern, enum driver d, enum bench_doubt doubt, char ret[static DOUBT_TEXT_MAX])
{
        char one[UNIT_TEXT_MAX], two[UNIT_TEXT_MAX], speed[UNIT_TEXT_MAX];
        double share = 0;
        struct doubt_row row;

        doubt_row_read(b, pattern, d, &row);
        (void) speed_text(b->conditions.speed_mbps, speed);
        ret[0] = '\0';
        switch (doubt) {
        case DOUBT_LINK:
                (void) snprintf(ret, DOUBT_TEXT_MAX, "%s is more than a link at %s can carry (%s): a cache answered",
                                figure_text(row.rate.max, STATS_BYTES, false, one), speed,
                                figure_text(link_ceiling(b->conditions.speed_mbps), STATS_BYTES, false, two));
                break;
        case DOUBT_USB2:
                (void) snprintf(ret, DOUBT_TEXT_MAX, "linked at %s: a USB 2 link carries %s at most, whatever the disk can do",
                                speed, figure_text(link_ceiling(b->conditions.speed_mbps), STATS_BYTES, false, one));
                break;
        case DOUBT_DEPTH:
                depth_text(&row, ret);
                break;
        case DOUBT_SUBMIT:
                submit_text(&row, ret);
                break;
        case DOUBT_CACHE:
                cache_text(&row, ret);
                break;
        case DOUBT_REGION:
                region_text(&row, ret);
                break;
        case DOUBT_SYNCS:
                (void) snprintf(ret, DOUBT_TEXT_MAX,
                                "synced %.0f times where %.0f were asked for: older versions of fio sync again with "
                                "each read that follows",
                                row.syncs, row.syncs_asked);
                break;
        case DOUBT_MEMORY:
                memory_text(&row, ret);
                break;
        case DOUBT_DISK:
                (void) snprintf(ret, DOUBT_TEXT_MAX, "no spinning disk is so quick: a cache answered, or it does not spin");
                break;
        case DOUBT_SPREAD:
                (void) snprintf(ret, DOUBT_TEXT_MAX, "the rounds differ by %.0f %% of their average", row.rate.spread_percent);
                break;
        case DOUBT_HEAT:
                (void) doubt_row_falls(&row, &share);
                (void) snprintf(ret, DOUBT_TEXT_MAX, "slower round by round, by %.0f %% in all: heat, or garbage collection",
                                100 * share);
                break;
        case DOUBT_HALVES:
                (void) snprintf(ret, DOUBT_TEXT_MAX,
                                "%.0f %% apart before and after the other driver: less between the two is no "
                                "difference",
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
