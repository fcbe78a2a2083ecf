/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/quirk-slips.h"
#include "ctl/context.h"
#include <sys/stat.h>

#define QUIRK_SLIPS_MAX 32

/* Lists the text that was meant as quirks entries for the bridge of f, or for any (NULL), and that
 * the kernel ignores. */
size_t quirk_slips_for(const struct quirk_lines *l, const struct facts *f,
                       struct quirk_slip ret[static QUIRK_SLIPS_MAX]);
/* Warns of all of it. */
void quirk_slips_say(const struct quirk_lines *l);
/* Prints it in the field Quirks, which `first` begins. */
void quirk_slips_print(const struct quirk_slip *slips, size_t n, bool first);

/*
 * The disk is on uas, and is to go to `target`. Writes a sentence if the kernel's use of TRIM ends
 * with that: how it stays. Else
 * "". To be read before the disk goes. Returns ret.
 */
#define TRIM_LOST_MAX 512
char *trim_lost(const struct ctl *c, const struct view *v, enum driver target, char *ret,
                size_t size);
void say_trim_is_lost(const struct ctl *c, const struct view *v, enum driver target);
