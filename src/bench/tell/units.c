/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/tell/stats.h"

#include <time.h>

#include "common/util.h"

#define ROUND_MAX 10000 /* of a unit, for blocks and regions; above it, the number is the size of a disk */

/* Three digits: 9.46, 94.6, 946. A value that rounds up to the next digit has one decimal less. */
static void digits(double value, const char *prefix, char *ret)
{
        (void) snprintf(ret, UNIT_TEXT_MAX, "%.*f%s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, prefix);
}

char *figure_text(double value, enum stats_measure m, bool utf8, char ret[static UNIT_TEXT_MAX])
{
        static const struct unit {
                double from, divisor;
                const char *name;
        } bytes[] = {{0, 1e6, " MB/s"}}, times[] = {{999.5e6, 1e9, " s"}, {999.5e3, 1e6, " ms"}, {0, 1e3, " us"}},
          requests[] = {{999.5e3, 1e6, "M IOPS"}, {9999.5, 1e3, "k IOPS"}, {0, 1, " IOPS"}}; /* 1234 is readable as it is */
        const struct unit *unit = m == STATS_BYTES ? bytes : m == STATS_IOPS ? requests : times;

        while (unit->from > 0 && value < unit->from)
                unit++;
        digits(value / unit->divisor, unit == &times[2] && utf8 ? " µs" : unit->name, ret);
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

char *day_text(uint64_t usec, char ret[static UNIT_TEXT_MAX])
{
        time_t t = (time_t) (usec / USEC_PER_SEC);
        struct tm tm;

        if (!gmtime_r(&t, &tm) || strftime(ret, UNIT_TEXT_MAX, "%Y-%m-%d %H:%M", &tm) == 0)
                (void) copy_string(ret, UNIT_TEXT_MAX, "?");
        return ret;
}
