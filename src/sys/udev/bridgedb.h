/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/bridge-db.h"
#include "sys/io/roots.h"

/*
 * What udev found in the hwdb for the USB device at this port, as its record has it: no hwdb is opened, no device
 * asked. Returns 1, or 0 and an empty entry if there is nothing.
 */
int bridgedb_read(const struct roots *r, const char *port, struct db_entry *ret);

/* The words hosts are known by: the device tree's `compatible`, or the machine's architecture where there is none. */
void platform_read(const struct roots *r, char ret[static PLATFORM_MAX]);
