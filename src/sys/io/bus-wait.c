/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/io/bus-wait.h"

int bus_process(sd_bus *bus, struct awake deadline)
{
        usec_t left = awake_left(deadline);
        int r = sd_bus_process(bus, NULL);

        if (r < 0)
                return r;
        if (r > 0)
                return 0;
        if (left == 0)
                return -ETIMEDOUT;
        r = sd_bus_wait(bus, left);
        if (r < 0 && r != -EINTR)
                return r;
        return 0;
}

int bus_wait_ready(sd_bus *bus, struct awake deadline)
{
        for (;;) {
                int r = sd_bus_is_ready(bus);

                if (r < 0)
                        return r;
                if (r > 0)
                        return 0;
                r = bus_process(bus, deadline);
                if (r < 0)
                        return r;
        }
}
