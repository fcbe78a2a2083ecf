/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/facts.h"
#include "core/keepoff.h"
#include "core/quirk-words.h"

/*
 * The `quirks=` that says from the first moment on, without uasd, what is wanted of disks: as a whole string, for the place where
 * it is to be said. What is said there already stays, but for what nobody would heed behind ours.
 */

/*
 * What a new `quirks=` at this place (QUIRK_COMMAND_LINE or QUIRK_MODPROBE) takes the place of, so that it has to say it as well:
 * the last one there; for the command line, which overrules modprobe.d, else the last one of modprobe.d. NULL: nothing.
 */
const struct quirk_line *kernel_line_base(const struct quirk_facts *q, enum quirk_source place);

/*
 * The string for all disks that are kept off uas (core/keepoff.h), or, if `one` is not NULL, for that disk alone, for which the
 * kernel is to choose `target`. 0; -E2BIG: what is there already is longer than the kernel takes; -ENOMEM. keepoff_done() frees
 * ret.
 */
int kernel_line_make(const struct quirk_line *base, const struct kept_disks *kept, const struct facts *one, enum driver target,
                     struct keepoff *ret);
