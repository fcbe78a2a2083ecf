/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-event.h>

/*
 * Runs sd_event_loop() under PID 1's watchdog. sd_event_set_watchdog() would wake uasd for ever only to report that it does not
 * hang. This function switches the watchdog off while uasd is at rest. Returns 0 after sd_event_exit(), or -errno.
 */
int watchdog_loop(sd_event *event);
