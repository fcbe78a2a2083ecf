/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/manager.h"

/* Sources do not know each other, and only post. */

/* uevents.c: events of the kernel and of udev, and marks that other programs write in /run/uasd */
int uevents_start(struct manager *m);

/* boot.c: posts POST_BOOTED when the boot is over */
int boot_await(struct manager *m);

/* sleep.c: whether logind is sending the machine to sleep. bus: a new connection to the system bus. */
int sleep_watch(struct manager *m, sd_bus *bus);
