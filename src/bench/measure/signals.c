/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <signal.h>

#include "bench/measure/session.h"
#include "common/util.h"

static volatile sig_atomic_t caught;

static void on_signal(int which)
{
        caught = which;
}

void session_catch_signals(void)
{
        static const int which[] = {SIGINT, SIGTERM, SIGHUP};
        struct sigaction a = {.sa_handler = on_signal}; /* no SA_RESTART: what waits wakes up */

        caught = 0;
        for (size_t i = 0; i < ELEMENTSOF(which); i++)
                (void) sigaction(which[i], &a, NULL);
}

int session_signal(void)
{
        return caught;
}
