/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/manager.h"

/* Starts uasd-switch --eject. Its end answers the call. Returns 0 or -errno. */
int eject_new(struct entry *e, sd_bus_message *call);
