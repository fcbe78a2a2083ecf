/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-event.h>

#include "common/util.h"

/*
 * Runs sd_event_loop() under PID 1's watchdog. sd_event_set_watchdog() would wake uasd for ever
 * only to report that it does not hang. This function switches the watchdog off while uasd is at
 * rest. Returns the code of sd_event_exit(), or -errno.
 */
int loop_run(sd_event *event);

/* A call that is due later. Its owner keeps it until then, or cancels it. */
struct later {
        sd_event_source *timer; /* NULL: no call is due */
        void (*call)(void *data);
        void *data;
};
/* Instead of the call that is due. Returns 0, or -errno and logs it. */
int later_call(struct later *l, sd_event *event, usec_t delay, void (*call)(void *data),
               void *data);
void later_cancel(struct later *l);

/*
 * Makes a pipe for a program. fn is called when the last copy of the program's end is closed, for
 * any reason; what it writes has no meaning. ret owns the other end.
 */
int pipe_until_closed(sd_event *event, sd_event_io_handler_t fn, void *data, sd_event_source **ret,
                      int *ret_end);
