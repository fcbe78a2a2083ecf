/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sys/block/claim.h"

/*
 * Reads the facts that must be the same under both drivers: size, logical sector size, partition table, filesystem ids, first and
 * last bytes. One fact a line, LUN by LUN. Physical block size and WWN are left out: they differ, since usb-storage hides VPD
 * pages. partly: of a LUN that cannot be read (EIO) the text has only the size and sector size. Returns 0 and the text (to be
 * freed), or -errno if a disk cannot be read.
 */
int fingerprint_read(const struct claim *c, bool partly, char **ret);

/* Returns true if both texts agree. Otherwise `ret` is the first line that differs, for a person. `before` may be partial. */
bool fingerprint_same(const char *before, const char *after, char *ret, size_t size);
/* Returns true if the LUNs that are in both have the same size and logical sector size: no write changes those. */
bool fingerprint_same_sizes(const char *before, const char *after);
