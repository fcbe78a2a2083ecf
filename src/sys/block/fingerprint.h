/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sys/block/claim.h"

/*
 * What both drivers must show alike: size, logical sector size, partition table, filesystem ids, first and
 * last bytes; a line a fact, LUN by LUN. usb-storage hides VPD pages, so physical block size and WWN differ honestly
 * and are left out.
 * partly: of a LUN that cannot be read (EIO) only what needs no reading, size and sector, is told, and compared.
 * Returns 0 and the text (to be freed), or -errno if a disk cannot be read.
 */
int fingerprint_read(const struct claim *c, bool partly, char **ret);

/* The first line that differs, for a person, into ret. `before` may be told partly. True if the two are alike. */
bool fingerprint_same(const char *before, const char *after, char *ret, size_t size);
/* Whether the LUNs that are in both have the same size and logical sector size: no write changes those. */
bool fingerprint_same_sizes(const char *before, const char *after);
