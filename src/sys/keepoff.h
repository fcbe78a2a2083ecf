/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/config.h"
#include "core/facts.h"
#include "core/keepoff.h"
#include "sys/roots.h"

/*
 * Disks that an initramfs keeps off uas (core/keepoff.h). Its hook asks what they are, a script in it says which
 * entries came into force; and when such an entry is no longer called for, uasd takes it out.
 */

/* What configuration, kept policies and records say of disks, with this kernel (NULL: the one that runs). 0 or -errno. */
int kept_disks_read(const struct roots *r, const struct config *c, const char *kernel, struct kept_disks *ret);

/* That entry is out of the parameter: it is no longer ours. */
int keepoff_disown(const struct roots *r, const char *entry);

/* All entries of ours in the parameter since the initramfs; empty: none. */
void keepoff_own_all(const struct roots *r, char ret[static QUIRKS_MAX + 1]);
/* Our entry for these disks in the parameter since the initramfs; empty: none. */
void keepoff_own(const struct roots *r, uint16_t vid, uint16_t pid, char ret[static QUIRK_ENTRY_MAX]);
