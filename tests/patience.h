/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdlib.h>
#include <unistd.h>

/*
 * How long a test waits for what must happen, and how late that may be, in any unit. UASD_PATIENCE
 * stretches it, or else the load at the first call, as in tests/ctl/patience.py.
 */
static inline unsigned long long patience(unsigned long long time)
{
        static double factor;

        if (factor < 1) {
                const char *told = getenv("UASD_PATIENCE");
                double load = 1;

                factor = told                        ? atof(told)
                         : getloadavg(&load, 1) == 1 ? load / (double) sysconf(_SC_NPROCESSORS_ONLN)
                                                     : 1;
                factor = factor > 1 ? factor : 1;
        }
        return (unsigned long long) ((double) time * factor);
}
