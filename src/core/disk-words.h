/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/disk.h"

/* Returns true if its last switch failed. A deferred switch has not failed. */
bool disk_went_wrong(const struct disk *d);
/*
 * Writes the sentence for `reason` in list and JSON: what the state means for this disk now, and
 * why ("Waits for uas until nothing uses it: /mnt/usb (sda1)."). Names in it are made harmless.
 * Returns ret.
 */
const char *disk_reason(const struct disk *d, char *ret, size_t size);
/* Returns true if the root file system or /usr is on it. */
bool disk_has_root(const struct disk *d);
/* The same, or a boot or EFI partition in use, or swap. */
bool disk_serves_system(const struct disk *d);
#define REMEDY_MAX 320
/* Writes the remedy for a disk with the running system; empty: it has no part of it. Returns ret.
 */
char *disk_system_remedy(const struct disk *d, char *ret, size_t size);
/* Writes the record of the disk as a clause: "distrusted: ...", "on trial", "passed its trial", or
 * "". Returns ret. */
const char *disk_history(const struct disk *d, char *ret, size_t size);
/*
 * Writes what is to blame for its trouble on usb-storage: "Not uas: disk, cable, power or port.
 * Under usb-storage: it had to be reset.", or "" without trouble. Returns ret.
 */
const char *disk_diagnosis(const struct disk *d, char *ret, size_t size);
/* Returns the stable word for the reason (`reason_id`). */
const char *disk_reason_id(const struct disk *d);

/* The kinds of names for a disk in files of the administrator. Some disappear when the driver
 * changes. */

enum devname {
        DEVNAME_LASTS,  /* by UUID, label, port, USB serial number; or no name of a disk */
        DEVNAME_KERNEL, /* sda1 */
        DEVNAME_DRIVER, /* from VPD pages or ATA commands: usb-storage reads no VPD pages, and
                           quirks forbid ATA commands */
        DEVNAME_DISKSEQ,
        _DEVNAME_MAX,
};

/* name: as in fstab. */
enum devname devname_of(const char *name);
/* Returns the possible effect of a switch, a clause; NULL: none. */
const char *devname_why(enum devname v);
