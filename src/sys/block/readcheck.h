/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sys/block/claim.h"
#include "sys/io/clock.h"

/*
 * Tests a claimed disk before a process mounts it: direct reads all over each LUN, as many at once as its queue takes. A bridge
 * that stalls at depth fails here, not under a mount. Returns 0, -ETIMEDOUT if an answer is missing at `deadline` (the unbind
 * ends the open reads), or the -errno of a read, such as -EIO.
 */
int trial_reads(const struct roots *r, const struct claim *c, struct awake deadline);
