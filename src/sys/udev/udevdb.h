/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/util.h"
#include "core/bridge-db.h"
#include "core/disk.h"
#include "core/facts.h"
#include "sys/io/roots.h"

/*
 * udev's database of one device in /run/udev/data/ID ("b8:0", "c189:2"): lines "E:KEY=VALUE", tags
 * "G:" (all ever given) and "Q:" (given at the last event). libudev reads only /run/udev, not a
 * tree in another folder. In instructions, it takes 113,000 to load and 168,000 for one property,
 * and this parser 17,000. The helper that runs at every event of a block device takes 100,000 in
 * all.
 */

#define UDEVDB_ID_MAX 40

/* Writes the id of the USB device at this port, "c189:2", from sysfs. Returns false if there is
 * none. */
bool udevdb_usb_id(const struct roots *roots, const char *port, char ret[static UDEVDB_ID_MAX]);
/* Reads the record of a device, which is to be freed. NULL if there is none. */
char *udevdb_read(const struct roots *roots, const char *id);
/* Returns 1 and the value, 0 if the record (may be NULL) has no such property, or -errno. */
int udevdb_get(const char *record, const char *key, char *ret, size_t size);
/* Returns true if the device ever had the tag. */
bool udevdb_has_tag(const char *record, const char *tag);
/* udevdb_get() for one property. */
int udevdb_property(const struct roots *roots, const char *id, const char *key, char *ret,
                    size_t size);
/*
 * Returns 1 and the time at which udev had processed the first event of this device, in usec of
 * CLOCK_MONOTONIC. Returns 0 if it has not yet, or -errno.
 */
int udevdb_initialized(const struct roots *roots, const char *id, usec_t *ret_usec);

/*
 * Reads from udev's record what the hwdb says about a USB device. Opens no hwdb and asks no device.
 * Without a word there it looks into the bundle's text. Returns 1, or 0 and an empty entry.
 */
int bridgedb_read(const struct roots *roots, const struct facts *f, struct db_entry *ret);
/*
 * Calls f for each bridge in the text of 61-uasd.hwdb, of the package or the bundle. names: the
 * words about it there, such as its chip. Returns 0 or -errno; -ENOENT: no such file.
 */
typedef void bridge_fn(uint16_t vid, uint16_t pid, const char *names, void *data);
int bridgedb_each(const struct roots *roots, bridge_fn *f, void *data);
/* Reads only the bundle's 61-uasd.hwdb, which no udev has compiled. Returns as above; -ENOENT: uasd
 * is not from a bundle. */
int bridgedb_read_text(const struct roots *roots, uint16_t vid, uint16_t pid, struct db_entry *ret);

/* Reads the names of this host: the device tree's `compatible`, or the machine's architecture
 * without a device tree. */
void platform_read(const struct roots *roots, char ret[static PLATFORM_MAX]);

/*
 * Triggers a synthetic `add` on the disks of an interface, then on their partitions. `change` is
 * not enough for LVM: 69-lvm.rules handles plain disks only on `add`. Tries all of them. Returns 0
 * or the first -errno.
 */
int trigger_add(const struct roots *roots, const struct lun *luns, size_t n_luns);

/*
 * Triggers a synthetic `change`, only on the disks, so that udev's rule asks uasd-hold again. It
 * does not at another `change` of a disk that is not held. Returns as above.
 */
int trigger_change(const struct roots *roots, const struct lun *luns, size_t n_luns);
