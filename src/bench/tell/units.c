/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/tell/units.h"

#include <time.h>

#include "common/util.h"

#define ROUND_MAX 10000 /* of a unit, for blocks and regions; above it, the number is the size of a disk */

/* Three digits: 9.46, 94.6, 946. A value that rounds up to the next digit has one decimal less. */
static void digits(double value, const char *prefix, char *ret)
{
        (void) snprintf(ret, UNIT_TEXT_MAX, "%.*f%s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, prefix);
}

static void time_text(double ns, bool utf8, char *ret)
{
        if (ns >= 999.5e6)
                digits(ns / 1e9, " s", ret);
        else if (ns >= 999.5e3)
                digits(ns / 1e6, " ms", ret);
        else
                digits(ns / 1e3, utf8 ? " µs" : " us", ret);
}

char *figure_text(double value, enum stats_measure m, bool utf8, char ret[static UNIT_TEXT_MAX])
{
        switch (m) {
        case STATS_BYTES:
                digits(value / 1e6, " MB/s", ret);
                break;
        case STATS_IOPS:
                if (value >= 999.5e3)
                        digits(value / 1e6, "M IOPS", ret);
                else if (value >= 9999.5) /* 1234 is still readable as it is */
                        digits(value / 1e3, "k IOPS", ret);
                else
                        digits(value, " IOPS", ret);
                break;
        case STATS_MEAN:
        case STATS_CLAT:
        case STATS_P50:
        case STATS_P95:
        case STATS_P99:
                time_text(value, utf8, ret);
                break;
        case _STATS_MEASURE_MAX:
                ret[0] = '\0';
                break;
        }
        return ret;
}

char *bytes_text(uint64_t bytes, char ret[static UNIT_TEXT_MAX])
{
        static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"}, *const decimal[] = {" kB", " MB", " GB", " TB"};
        uint64_t whole = bytes;
        double part = (double) bytes / 1e3;
        size_t u = 0, d = 0;

        for (; u + 1 < ELEMENTSOF(units) && whole >= 1024 && whole % 1024 == 0; u++)
                whole /= 1024;
        for (; d + 1 < ELEMENTSOF(decimal) && part >= 999.5; d++)
                part /= 1e3;
        if (whole >= ROUND_MAX)
                digits(part, decimal[d], ret);
        else
                (void) snprintf(ret, UNIT_TEXT_MAX, "%u %s", (unsigned) whole, units[u]);
        return ret;
}

char *day_text(uint64_t usec, bool time, char ret[static UNIT_TEXT_MAX])
{
        time_t t = (time_t) (usec / USEC_PER_SEC);
        struct tm tm;

        if (!gmtime_r(&t, &tm) || strftime(ret, UNIT_TEXT_MAX, time ? "%Y-%m-%d %H:%M" : "%Y-%m-%d", &tm) == 0)
                (void) copy_string(ret, UNIT_TEXT_MAX, "?");
        return ret;
}
