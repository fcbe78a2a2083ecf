/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/bridge-db.h"
#include "core/facts.h"
#include "sys/io/roots.h"

/*
 * Looks a bridge up in the hwdb of this machine, as udev does. product: of the device, or empty.
 * Returns 1, 0 and an empty entry, or -errno: -ENOENT if there is no hwdb.
 */
int hwdb_read(uint16_t vid, uint16_t pid, const char *product, struct db_entry *ret);
/* Writes the names of maker and product that the hwdb has: "Samsung Electronics Co., Ltd PSSD T7",
 * or "". Returns ret. */
char *hwdb_names(uint16_t vid, uint16_t pid, char *ret, size_t size);

/*
 * At plug-in uasd acts on the event of the kernel, before udev has a record of the USB device. So
 * the bridge is looked up in the hwdb as udev does it. Does nothing if there is a record. Without a
 * hwdb the verdict does not change.
 */
void facts_complete_hwdb(const struct roots *roots, struct facts *f);
