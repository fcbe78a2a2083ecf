/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/bridge-db.h"
#include "sys/io/roots.h"

/*
 * Reads from udev's record what the hwdb says about the USB device at this port. Opens no hwdb and asks no device. Returns 1, or
 * 0 and an empty entry.
 */
int bridgedb_read(const struct roots *r, const char *port, struct db_entry *ret);

/* Reads the names of this host: the device tree's `compatible`, or the machine's architecture without a device tree. */
void platform_read(const struct roots *r, char ret[static PLATFORM_MAX]);
