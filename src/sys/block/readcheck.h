/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sys/block/claim.h"
#include "sys/io/clock.h"

/*
 * Tries a claimed disk before anybody mounts it: direct reads all over every LUN, as many at once as its queue takes. A
 * bridge that stalls at depth fails here, not under a mount. Returns 0; -ETIMEDOUT if they are not all answered by
 * `deadline` (what is in flight is left to the unbind); -EIO or other -errno for what a read failed with.
 */
int trial_reads(const struct roots *r, const struct claim *c, struct awake deadline);
