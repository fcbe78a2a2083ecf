/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/config.h"
#include "core/keepoff.h"
#include "sys/io/roots.h"

/*
 * Our entries in the quirks parameter keep some disks off uas (core/keepoff.h). An initramfs-tools
 * hook asks for them, and a script in the initramfs reports which ones came into force. From then
 * on uasd keeps them up to date.
 */

/*
 * Reads the statements of configuration, kept policies and records about disks, for this kernel
 * (NULL: the running one). They do not say which drivers a disk supports: kept_disks_plugged() adds
 * that for each plugged-in disk. Returns 0 or -errno.
 */
int kept_disks_read(const struct roots *roots, const struct config *c, const char *kernel,
                    struct kept_disks *ret);
/* Adds it for all plugged-in disks that support only UAS, which are read from sysfs. Returns 0 or
 * -errno. */
int kept_disks_read_plugged(const struct roots *roots, struct kept_disks *k);

/*
 * Adds our missing entries to the parameter. Removes those that are not wanted any more, but only
 * if `known`: before that /var may not be mounted, or the plugged-in disks may not have been read.
 * ret: our present entries, and the disks without room. Returns 1 if the parameter was changed, 0,
 * or -errno: -ENOENT usb_storage is not loaded, -ETIMEDOUT a bind is under way and was not waited
 * for.
 */
int keepoff_apply(const struct roots *roots, const struct kept_disks *kept, bool known,
                  struct keepoff *ret);

/* Reads all of our entries that stay in the parameter; empty: none. False: the record is for
 * another parameter, or for none. */
bool keepoff_own_all(const struct roots *roots, char ret[static QUIRKS_MAX + 1]);
/* Reads the entry for these disks; empty: none. */
void keepoff_own(const struct roots *roots, uint16_t vid, uint16_t pid,
                 char ret[static QUIRK_ENTRY_MAX]);
