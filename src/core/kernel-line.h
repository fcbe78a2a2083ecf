/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/facts.h"
#include "core/keepoff.h"
#include "core/quirk-words.h"

/*
 * The `quirks=` that makes policy effective from the first moment, without uasd: the whole string for the place where the user
 * writes it. Present entries there stay, except those that would have no effect behind ours.
 */

/*
 * Returns the line that a new `quirks=` at this place (QUIRK_COMMAND_LINE or QUIRK_MODPROBE) would replace, so that it must
 * repeat it. This is the last line there. The command line overrides modprobe.d: if it has none, this is the last line of
 * modprobe.d. NULL: none.
 */
const struct quirk_line *kernel_line_base(const struct quirk_facts *q, enum quirk_source place);

/*
 * Makes the string for all disks that are kept off uas (core/keepoff.h). If `one` is not NULL, only for that disk, for which the
 * kernel should choose `target`. Returns 0, -E2BIG if the present string is longer than the kernel takes, or -ENOMEM.
 * keepoff_done() frees ret.
 */
int kernel_line_make(const struct quirk_line *base, const struct kept_disks *kept, const struct facts *one, enum driver target,
                     struct keepoff *ret);
