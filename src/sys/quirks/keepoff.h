/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/config.h"
#include "core/facts.h"
#include "core/keepoff.h"
#include "sys/io/roots.h"

/*
 * Disks that are kept off uas by entries of ours in the quirks parameter (core/keepoff.h): an initramfs-tools hook asks what
 * they are, a script in the initramfs says which entries came into force; from then on uasd keeps them as what is kept calls for.
 */

/*
 * What configuration, kept policies and records say of disks, with this kernel (NULL: the one that runs), and which of those that
 * are plugged in speak UAS alone. 0 or -errno.
 */
int kept_disks_read(const struct roots *r, const struct config *c, const char *kernel, struct kept_disks *ret);

/*
 * Puts the entries in that are called for, and, if all that is wanted is `known` (/var may not be mounted yet, or nobody has
 * looked at what is plugged in), takes out those of ours that are not. ret: ours as they are now, and what has no room. Returns
 * 1: something was changed, 0, or -errno: -ENOENT usb_storage is not there, -ETIMEDOUT a bind is at work: it is not waited for.
 */
int keepoff_apply(const struct roots *r, const struct kept_disks *kept, bool known, struct keepoff *ret);

/* All entries of ours that stay in the parameter; empty: none. False: what is on record is of another parameter, or of none. */
bool keepoff_own_all(const struct roots *r, char ret[static QUIRKS_MAX + 1]);
/* The one for these disks; empty: none. */
void keepoff_own(const struct roots *r, uint16_t vid, uint16_t pid, char ret[static QUIRK_ENTRY_MAX]);
